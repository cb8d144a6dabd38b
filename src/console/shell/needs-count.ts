/** How many things need the user, for the navigation and the titles of pages. */
import { computed, type ReadonlySignal } from '@preact/signals'
import { countOf, needs } from '../data/needs.ts'

/** The number of things that need the user; 0 until they were read. */
export const needsCount: ReadonlySignal<number> = computed(() =>
  needs.value === null ? 0 : countOf(needs.value),
)

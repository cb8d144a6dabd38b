/** How many things need the user, for the navigation and the title. */
import { computed, type ReadonlySignal } from '@preact/signals'
import { daemonStatus } from './status.ts'

/** The number of things that need the user, as the daemon counts them. */
export const needsCount: ReadonlySignal<number> = computed(
  () => daemonStatus.value?.needs_you.length ?? 0,
)

/** The link of the guest code that was made last, which the API shows only once. */
import { signal, type ReadonlySignal } from '@preact/signals'
import type { Schemas } from '../../../data/api.ts'

type MadeLink = Pick<Schemas['CreatedGuestCode'], 'id' | 'url'>

const made = signal<MadeLink | null>(null)

/** The link that was made last in this tab; null if there is none. It is stored nowhere. */
export const madeLink: ReadonlySignal<MadeLink | null> = made

/** Keeps a link until another one is made, or `null` is given. */
export function keepMadeLink(link: MadeLink | null): void {
  made.value = link
}

/**
 * The place in the console: the fragment of the address, such as `#/people/con_…`. Nothing of it is
 * sent to the daemon.
 */
import { computed, signal, type ReadonlySignal } from '@preact/signals'

/** A place: the name of the page, and what it shows. */
export interface ConsolePlace {
  readonly page: string
  /** The segments after the page. */
  readonly rest: readonly string[]
}

const fragment = signal(location.hash)
addEventListener('hashchange', () => {
  fragment.value = location.hash
})

/** Returns the text of a segment. An address that a person typed may not be percent-encoded. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The place that the address names. */
export const currentPlace: ReadonlySignal<ConsolePlace> = computed(() => {
  const path = fragment.value.startsWith('#/') ? fragment.value.slice(2) : ''
  const [page = '', ...rest] = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded)
  return { page, rest }
})

/** Returns the address of a place, for links. */
export const hrefOf = (...segments: readonly string[]): string =>
  `#/${segments.map(encodeURIComponent).join('/')}`

/** Goes to a place. */
export function goTo(...segments: readonly string[]): void {
  location.hash = hrefOf(...segments)
}

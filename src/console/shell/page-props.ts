/** The properties of every page: the segments of the address after the page. */
export interface PageProps {
  readonly rest: readonly string[]
}

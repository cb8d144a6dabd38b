/** Logs in the form of a test server’s answers. */

/** Returns the entries from a place on, in one page, as the account server answers them. */
export const paged = (
  entries: readonly string[],
  { from = 0 }: { readonly from?: number | undefined },
): { entries: string[]; seq: number } => ({
  entries: entries.slice(from),
  seq: entries.length - 1,
})

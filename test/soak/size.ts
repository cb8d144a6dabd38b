/** How much a long suite does: little in CI, all of it in `npm run soak`. */

/** The one that fits this run. */
export const sized = (small: number, full: number): number =>
  process.env['SOAK'] === 'full' ? full : small

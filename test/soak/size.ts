/** The size of a long suite: small in CI, full in `npm run soak`. */

/** Returns the size for this run. */
export const sized = (small: number, full: number): number =>
  process.env['SOAK'] === 'full' ? full : small

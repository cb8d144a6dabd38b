import type { TrustCard } from '../api/rest/trust-cards.ts'
import type { TrustRow } from '../state/trust.ts'

/**
 * What to think of the keys behind a card. A log that the account server shows and that does not hold is no better than other keys: one
 * of the two histories is not theirs.
 */
export const keyStatusOf = ({
  refused,
  newest,
  pinned,
  confirmed,
}: TrustRow): TrustCard['key_status'] =>
  refused !== null || newest > pinned ? 'changed_unverified' : confirmed ? 'confirmed' : 'unchanged'

import type { TrustCard } from '../api/rest/trust-cards.ts'
import type { TrustRow } from '../state/trust.ts'

/**
 * Returns the status of the keys behind a trust card. A refused key log counts like changed keys:
 * one of the two histories is not the account's.
 */
export const keyStatusOf = ({
  refused,
  newest,
  pinned,
  confirmed,
}: TrustRow): TrustCard['key_status'] =>
  refused !== null || newest > pinned ? 'changed_unverified' : confirmed ? 'confirmed' : 'unchanged'

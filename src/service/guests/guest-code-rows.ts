import { timeAt } from '../../api/fields.ts'
import type { GuestCode } from '../../api/rest/guest-codes.ts'
import type { Schema } from '../db/schema.ts'

export const GUEST_CODE_PREFIX = 'gst_'

type Row = Schema['guest_codes'] & {
  /** The name of the external member; null for a code without an external member. */
  readonly external_member_name: string | null
}

/**
 * Returns the state of a guest code. `revoked` comes before `expired`, since the owner revoked
 * it.
 */
export function guestCodeState(row: Pick<Row, 'revoked_at' | 'expires_at'>, now: number) {
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at <= now ? 'expired' : 'active'
}

/** Returns a guest code as a resource. The device adds the secret, which only it stores. */
export const guestCodeResource = (row: Row, now: number): GuestCode => ({
  id: row.id,
  label: row.label,
  state: guestCodeState(row, now),
  expires_at: timeAt(row.expires_at),
  external_member_id: row.external_member_id,
  external_member: externalMemberOf(row),
  last_opened_at: row.last_opened_at === null ? null : timeAt(row.last_opened_at),
  secret_here: false,
  code: null,
  created_at: timeAt(row.created_at),
})

const externalMemberOf = (row: Row): GuestCode['external_member'] =>
  row.external_member_id === null || row.external_member_name === null
    ? null
    : { id: row.external_member_id, display_name: row.external_member_name }

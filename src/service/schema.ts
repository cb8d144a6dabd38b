/**
 * The tables of the account server, as the queries see them. Ids are text, times Unix milliseconds; signed structures are
 * kept as they were received. What a table is for stands here, what it looks like in SQL in migrations.ts.
 */

export interface Schema {
  accounts: {
    id: string
    kind: 'person'
    display_name: string
  }
  devices: {
    id: string
    account_id: string
    name: string
    platform: 'linux' | 'macos' | 'windows' | 'other'
  }
  key_log_entries: {
    account_id: string
    seq: number
    entry: string
    /** When this server received it; the time inside an entry decides nothing. */
    stored_at: number
  }
  enrolment_codes: {
    /** The part of the code that names it. */
    locator: string
    /** SHA-256 of the part that proves it. */
    secret_hash: string
    /** The account that it may enrol: the first that used it, unless it was made for one. */
    account_id: string | null
    tries: number
    expires_at: number
  }
  sessions: {
    id: string
    account_id: string
    device_id: string
    access_hash: string
    access_expires_at: number
    refresh_hash: string
    last_seen_at: number
  }
  /** One row. */
  receipt_key: {
    id: 1
    seed: string
  }
  connections: {
    id: string
    epoch: number
    created_at: number
  }
  /** An active member of a connection, and what they call it. */
  memberships: {
    account_id: string
    connection_id: string
    role: 'owner' | 'member'
    name: string
    favorite: 0 | 1
    updated_at: number
  }
  roster_entries: {
    connection_id: string
    seq: number
    entry: string
  }
  envelopes: {
    connection_id: string
    epoch: number
    recipient: string
    envelope: string
  }
  guest_codes: {
    id: string
    account_id: string
    label: string
    expires_at: number
    revoked_at: number | null
    last_opened_at: number | null
    created_at: number
  }
  stamps: {
    id: string
    account_id: string
    /** The 36 bits of its words; a look-up must lead to one stamp. */
    words: number
    stamp: string
    receipt: string
  }
  verifications: {
    account_id: string
    id: string
    /** The entry as JSON, as its device wrote it. */
    entry: string
  }
}

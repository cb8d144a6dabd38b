/**
 * The tables of the account server, as the queries see them. Ids are text, times Unix milliseconds; signed structures are
 * kept as they were received. What a table is for stands here, what it looks like in SQL in migrations.ts.
 */

export interface Schema {
  accounts: {
    id: string
    kind: 'person' | 'machine'
    display_name: string
  }
  /** Proven mailboxes, in lower case: each opens one account. */
  emails: {
    address: string
    account_id: string
    is_primary: 0 | 1
    verified_at: number
  }
  devices: {
    id: string
    account_id: string
    name: string
    platform: 'linux' | 'macos' | 'windows' | 'other'
    /** Its public keys as JSON, while they stand in no key log; null since. */
    keys: string | null
    /** RFC 7638 thumbprint of its authentication key, to which its sessions are bound. */
    auth_kid: string
    created_at: number
    /** When both word checks were done; null for a further device that waits. */
    approved_at: number | null
    revoked_at: number | null
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
    /** The mailbox it was sent to; null for one that the operator made. */
    email: string | null
    /** The device that used it, which alone may use it again. */
    device_id: string | null
    tries: number
    expires_at: number
  }
  sessions: {
    id: string
    account_id: string
    device_id: string
    refresh_hash: string
    created_at: number
    last_seen_at: number
    /** 1 once its device has proven its key: until then anybody with a code may have opened it. */
    proven: number
  }
  /** Access tokens of sessions: several live beside each other, so that two renewals at once end nobody's. */
  access_tokens: {
    hash: string
    session_id: string
    expires_at: number
  }
  /** What must come in once only, across replicas, until it would be too old anyway: proofs and assertions. */
  seen_once: {
    id: string
    expires_at: number
  }
  /** Secrets that all replicas share. */
  server_secrets: {
    name: 'nonce' | 'turn of mailed codes'
    secret: string
  }
  organisations: {
    id: string
    name: string
    created_at: number
  }
  organisation_members: {
    organisation_id: string
    account_id: string
    role: 'owner' | 'admin' | 'member'
    state: 'invited' | 'active' | 'suspended'
    joined_at: number
  }
  /** What a machine account has beside an account. */
  machines: {
    account_id: string
    organisation_id: string
    /** RFC 7638 thumbprint and public key of what signs its assertions. */
    kid: string
    key: string
    created_by: string
    created_at: number
  }
  machine_tokens: {
    id: string
    account_id: string
    hash: string
    name: string
    label: string | null
    scope: 'read' | 'write' | 'full'
    /** 1: from the token endpoint, where clients come every hour; such a one is forgotten when it ran out. */
    granted: 0 | 1
    created_at: number
    expires_at: number | null
    revoked_at: number | null
    last_used_at: number | null
  }
  /** What was answered to a POST under its Idempotency-Key. */
  idempotency: {
    /** Whose key it is: the device or the token. */
    caller: string
    key: string
    /** SHA-256 of method, path and body. */
    fingerprint: string
    /** The answer as JSON. */
    answer: string
    at: number
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

/**
 * The tables of the account server, as the queries see them. Ids are text, times Unix milliseconds; signed structures are
 * kept as they were received. What a table is for stands here, what it looks like in SQL in migrations.ts.
 */

export interface Schema {
  accounts: {
    id: string
    kind: 'person' | 'machine'
    display_name: string
    /** A name that is unique on the server, where the person chose one. */
    handle: string | null
    headline: string | null
  }
  /** What was chosen; without a row, or with null, the default. */
  preferences: {
    account_id: string
    locale: string | null
    time_zone: string | null
    public_code: 0 | 1
    email_notifications: 0 | 1
  }
  /** Secrets of public codes, which the account server has to know (section 6). */
  public_codes: {
    account_id: string
    /** 32 bytes, base64url; null once the owner has switched it off. */
    k: string | null
    /** Rises with every change of any public code: whoever remembers them asks for what came since. */
    turn: number
  }
  /** One row: the newest turn. Who takes the next one holds it, so that turns are in the order in which they are kept. */
  public_code_turns: {
    id: 1
    turn: number
  }
  /** What an account may do so often in a while, until it no longer counts. */
  tries: {
    account_id: string
    what: 'look-up' | 'follow by mailbox' | 'invitation'
    id: string
    expires_at: number
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
    name: 'nonce' | 'turn of mailed codes' | 'turn of handles'
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
  invitations: {
    id: string
    connection_id: string
    /** What the inviter called the connection then. */
    connection_name: string
    from_account: string
    /** Whom it is for: an account, or a mailbox until whoever proves that one approves. */
    to_account: string | null
    /** In lower case. */
    to_email: string | null
    /** As decided; one that is pending for too long has expired. */
    state: 'pending' | 'approved' | 'declined' | 'withdrawn'
    /**
     * Whether owners may take the account in: 1 since it approved, which their devices are told; 2 once it was; 0 again when it left or was removed.
     * 2 while it is pending: whoever has the mailbox was a member and went since, so it has served.
     */
    consent: 0 | 1 | 2
    created_at: number
    expires_at: number
  }
  /** Who follows whom. */
  trust_cards: {
    account_id: string
    watched_id: string
    note: string | null
    created_at: number
    confirmed_at: number | null
    last_verified_at: number | null
  }
  trust_events: {
    id: string
    account_id: string
    watched_id: string
    at: number
    event: 'followed' | 'confirmed' | 'verified' | 'note_changed'
    detail: string | null
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
    /** The device that sealed it; null for one of a time when that was always of the same account. */
    sender: string | null
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

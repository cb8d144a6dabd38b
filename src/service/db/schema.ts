/**
 * The types of the account server's tables, for queries. Ids are text, and times are Unix
 * milliseconds. Signed structures are stored exactly as they were received. The SQL of the tables
 * is in `migrations/`; `test/service/schema.test.ts` checks that both agree.
 */

/** A column that may be null according to the database, although every row has a value. */
type AlwaysSet<T> = T

export interface Schema {
  accounts: {
    id: string
    kind: 'person' | 'machine'
    display_name: string
    /** A name that is unique on the server; null if the person has not chosen one. */
    handle: string | null
    headline: string | null
    /**
     * The signed profile with the name (docs/protocol.md section 4a); null if no device has signed
     * one.
     */
    profile: string | null
  }
  /** The preferences that an account has chosen. A missing row or null means the default. */
  preferences: {
    account_id: string
    locale: string | null
    time_zone: string | null
    public_code: 0 | 1
    email_notifications: 0 | 1
    /** Whether others can find the account by one of its confirmed mailboxes. */
    findable_by_email: 0 | 1
  }
  /** Secrets of public codes, which the account server needs (docs/protocol.md section 6). */
  public_codes: {
    account_id: string
    /** 32 bytes, base64url; null after the owner has switched the code off. */
    k: string | null
    /** The number of the row's last change, counted over all public codes. */
    turn: number
  }
  /**
   * One row with the newest turn number. The transaction that takes the next number locks the row,
   * so turn numbers are in the order of commits.
   */
  public_code_turns: {
    id: 1
    turn: number
  }
  /**
   * The windows with words in `public_words`. Both tables are a cache, which PostgreSQL empties
   * after a crash.
   */
  public_word_windows: {
    window: number
    /**
     * `public_words` has the words of all codes that were last changed in this turn or earlier. -1
     * while the window's words are being deleted.
     */
    turn: number
  }
  /** Words of public codes, by window and first word. */
  public_words: {
    window: number
    /** The index of the first word, 0 to 4095. */
    first_word: number
    /** The value of `public_word_windows.turn` after this row was stored. */
    turn: number
    /**
     * 9 bytes for each code: the other two words (24 bits), and the turn of the code's last change
     * (48 bits).
     */
    entries: Uint8Array
  }
  /** Jobs that only one replica does at a time. */
  leases: {
    name:
      | 'public words'
      | 'sweep of used assertions'
      | 'sweep of used proofs'
      | 'sweep of idempotent operations'
      | 'sweep of mailbox claims'
      | 'index builds'
      | 'retention'
      | 'ending guest codes'
    /** The replica that has the lease. */
    owner: string
    /** When the lease expires unless it is renewed. */
    until: number
  }
  /** Attempts that count against a rate limit until they expire. */
  tries: {
    account_id: string
    what:
      | 'look-up'
      | 'follow by mailbox'
      | 'invitation'
      | 'invitation mail'
      | 'guest mail'
      | 'guest mail to one'
      | 'mailbox'
      | 'chat'
      | 'feedback'
      | 'export'
      | 'org invite'
      | 'keys'
      | 'reset'
      | 'name'
      | 'roster'
      | 'webhook notice'
      | 'handle'
    id: string
    expires_at: number
  }
  /** Confirmed mailboxes, in lower case. A code that is mailed to one signs in to its account. */
  emails: {
    address: string
    account_id: string
    is_primary: 0 | 1
    verified_at: number
    /** The sort key of lists. It is the id of the former claim, or was created with the row. */
    id: AlwaysSet<string>
    /** When the mailbox was claimed; null if it was confirmed when the account was created. */
    created_at: number | null
  }
  /** Mailboxes that an account added but has not confirmed yet by the mailed link. */
  email_claims: {
    id: string
    account_id: string
    address: string
    /** SHA-256 of the link's token. */
    token_hash: string
    created_at: number
    expires_at: number
  }
  devices: {
    id: string
    account_id: string
    name: string
    platform: 'linux' | 'macos' | 'windows' | 'other'
    /** The device's public keys as JSON; null once the key log contains them. */
    keys: string | null
    /** RFC 7638 thumbprint of the authentication key, to which the device's sessions are bound. */
    auth_kid: string
    /** The device's newest sealing key: 1,216 bytes, base64url. */
    seal_key: string
    created_at: number
    /**
     * When the device was approved by posting its check of the key log; null for a pending device.
     */
    approved_at: number | null
    revoked_at: number | null
    /** When the device was last seen in a session that has ended; null if there is none. */
    seen_before_at: number | null
  }
  /** The newest approval attempt of each pending device (docs/protocol.md section 3). */
  device_approvals: {
    device_id: string
    /**
     * `commitment` is base64url; `answer` and `reveal` are JSON. They are stored as the devices
     * send them.
     */
    commitment: string
    begun_at: number
    /** The device that answered; null before the answer. */
    answered_by: string | null
    answer: string | null
    reveal: string | null
  }
  key_log_entries: {
    account_id: string
    seq: number
    entry: string
    /** When this server received the entry. The time inside an entry has no effect. */
    stored_at: number
  }
  enrolment_codes: {
    /** The part of the code that identifies it. */
    locator: string
    /** SHA-256 of the secret part. */
    secret_hash: string
    /**
     * The only account that the code may enrol. It is the account for which the code was made, or
     * else the first account that used it; null before that.
     */
    account_id: string | null
    /** The mailbox to which the code was sent; null for a code made by the operator. */
    email: string | null
    /** The device that used the code. Only this device may use it again. */
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
    active_organisation_id: string | null
    /**
     * When the active organisation was chosen; null if there is none, or if the time was not
     * recorded.
     */
    active_since: number | null
    /**
     * 1 after the device has proven its key. 0 before that, when anyone with a code may have opened
     * the session. 2 for the embedded daemon in the server's process, which needs no proof.
     */
    proven: number
  }
  /**
   * Access tokens of sessions. Several can be valid at the same time, so that concurrent renewals
   * do not invalidate each other's tokens.
   */
  access_tokens: {
    hash: string
    session_id: string
    expires_at: number
  }
  /**
   * Assertions that were used, until they expire. Each is accepted once across all replicas. The
   * table also contains other short-lived marks, such as the places that limit mails to one mailbox
   * (`mail-allowance.ts`).
   */
  seen_once: {
    id: string
    expires_at: number
  }
  /** Proofs that were used, until they expire (`proof-epochs.ts`). */
  used_proofs: {
    id: string
    expires_at: number
  }
  /** The epoch of these proofs, in one row (`proof-epochs.ts`). */
  proof_epoch: {
    id: 1
    epoch: string
    /** 32 bytes, base64url, from which the nonces of proofs are computed. */
    secret: string
  }
  /**
   * Marks of what a sync reads, a random number for each part (`sync-marks.ts`). An account has a
   * row after its first conditional sync. Zero stands for a list that has no mark yet.
   */
  sync_marks: {
    account_id: string
    made_at: number
    key_log: number
    connections: number
    guest_codes: number
    duties: number
    trust_cards: number
    public_code: number
    invitations: number
    open_link_requests: number
    notifications: number
    exports: number
    organisations: number
    devices: number
  }
  /** Secrets and named locks that all replicas share. */
  server_secrets: {
    name:
      | 'download links'
      | 'address proofs'
      | 'turn of mailed codes'
      | 'turn of handles'
      | 'turn of slugs'
      | 'turn of look-ups by mailbox'
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
    /** The sort key of lists. It was created with the invitation or when the member joined. */
    member_id: AlwaysSet<string>
    /**
     * When the member was invited, and the invited mailbox (`email`, in lower case). Both are null
     * for members without an invitation, which are the founder and machines.
     */
    invited_at: number | null
    email: string | null
  }
  /** Invited mailboxes. An account that confirms one becomes a member. */
  organisation_invites: {
    /** Becomes the `member_id` when the invited person joins. */
    id: string
    organisation_id: string
    /** In lower case. */
    email: string
    role: 'owner' | 'admin' | 'member'
    /** A suspended invitation cannot be used to join. */
    state: 'invited' | 'suspended'
    created_at: number
  }
  organisation_groups: {
    id: string
    organisation_id: string
    name: string
    description: string | null
    created_at: number
  }
  organisation_group_members: {
    group_id: string
    organisation_id: string
    account_id: string
  }
  organisation_alerts: {
    id: string
    organisation_id: string
    name: string
    event: string
    threshold: number
    window_minutes: number
    enabled: 0 | 1
    last_fired_at: number | null
    created_at: number
  }
  organisation_alert_notify: {
    alert_id: string
    organisation_id: string
    account_id: string
  }
  organisation_activities: {
    id: string
    organisation_id: string
    at: number
    /** null if there is no actor, or if the actor's account was deleted. */
    actor_id: string | null
    event: string
    /** The id of what the activity was about. */
    target: string | null
    /** A JSON object with texts by name. */
    data: string
  }
  /**
   * Activity counts over all time. This and the next three tables are updated with each activity,
   * so that the cost of queries does not grow with the history.
   */
  organisation_totals: {
    organisation_id: string
    event: string
    count: number
  }
  organisation_event_days: {
    organisation_id: string
    /** Days since 1970, in UTC. */
    day: number
    event: string
    count: number
  }
  /** Counts by minute. They are kept as far back as an alert's window may begin. */
  organisation_event_minutes: {
    organisation_id: string
    event: string
    /** Minutes since 1970. */
    minute: number
    count: number
  }
  organisation_actor_days: {
    organisation_id: string
    day: number
    actor_id: string
    count: number
  }
  /** The data of a machine account, in addition to its account row. */
  machines: {
    /** `mch_…`. Key file and assertions contain this id. */
    id: string
    /**
     * The same as `id` until the first device enrols. Account ids are derived from a device's keys.
     */
    account_id: string
    organisation_id: string
    /** RFC 7638 thumbprint and public key of the key that signs its assertions. */
    kid: string
    key: string
    /** The account that created the machine account; empty after that account was deleted. */
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
    /**
     * 1 if the token endpoint made the token. Clients get such a token every hour, so these are
     * deleted after they expire.
     */
    granted: 0 | 1
    created_at: number
    expires_at: number | null
    revoked_at: number | null
    last_used_at: number | null
  }
  /** Answers to POST requests with an Idempotency-Key. */
  idempotency: {
    /** The id of the device, the token or the account that sent the key. */
    caller: string
    key: string
    /** SHA-256 of method, path and body. */
    fingerprint: string
    /** The answer as JSON. */
    answer: string
    at: number
  }
  /** One row with the key that signs receipts. */
  receipt_key: {
    id: 1
    seed: string
  }
  connections: {
    id: string
    epoch: number
    created_at: number
    /** When an owner ended the connection for all members; null if no owner has. */
    ended_at: number | null
  }
  /** An active member of a connection, and the member's name for it. */
  memberships: {
    account_id: string
    connection_id: string
    role: 'owner' | 'member'
    name: string
    favorite: 0 | 1
    updated_at: number
    preset_id: string | null
  }
  /** Tags are private to an account: other members of a connection do not see them. */
  tags: {
    id: string
    account_id: string
    name: string
    color: string | null
    created_at: number
  }
  tag_assignments: {
    account_id: string
    connection_id: string
    tag_id: string
  }
  /** Defaults for a new connection. */
  presets: {
    id: string
    account_id: string
    name: string
    favorite: 0 | 1
    invite_message: string | null
    /** How long invitations are valid, in seconds; null for the default. */
    invitation_expires_in: number | null
    /** At most one preset of an account is the default. */
    is_default: 0 | 1
    created_at: number
  }
  preset_tags: {
    preset_id: string
    tag_id: string
  }
  open_links: {
    id: string
    account_id: string
    slug: string
    title: string
    state: 'active' | 'paused'
    preset_id: string | null
    created_at: number
  }
  open_link_requests: {
    id: string
    open_link_id: string
    /** The owner of the link. */
    account_id: string
    display_name: string
    /** In lower case. */
    email: string
    message: string | null
    /**
     * `unconfirmed`: the mailed link has not been used yet, so the owner does not see the request.
     */
    state: 'unconfirmed' | 'pending' | 'approved' | 'declined'
    /** SHA-256 of the token in the mailed link; null after the link was used. */
    token_hash: string | null
    /** The connection that was created by the approval. */
    connection_id: string | null
    created_at: number
    /** When the mailed link expires; null after it was used. */
    expires_at: number | null
  }
  external_members: {
    id: string
    account_id: string
    display_name: string
    email: string | null
    phone: string | null
    note: string | null
    created_at: number
  }
  notifications: {
    id: string
    account_id: string
    kind: string
    title: string
    body: string
    /** A JSON object with ids by name. */
    data: string
    read_at: number | null
    created_at: number
  }
  exports: {
    id: string
    account_id: string
    /**
     * `expired`: the file was deleted. A `ready` export also counts as expired after `expires_at`.
     */
    state: 'queued' | 'building' | 'ready' | 'failed' | 'expired'
    /** In percent. */
    progress: number
    size_bytes: number | null
    error: string | null
    /**
     * The builder that builds the export, and the end of its lease. After that, another builder may
     * start again.
     */
    builder: string | null
    builder_until: number | null
    created_at: number
    finished_at: number | null
    expires_at: number | null
  }
  /** Export files in parts, so that every replica can send them. */
  export_parts: {
    export_id: string
    seq: number
    bytes: Uint8Array
  }
  /**
   * The accounts that a connection's roster names, including former members. Their key logs are
   * needed to verify the roster's entries.
   */
  roster_accounts: {
    connection_id: string
    /** SHA-256 of the account's id, hex. */
    account_hash: string
    /** The connection's epoch when the account was deleted; null if the account exists. */
    departed_epoch: number | null
  }
  /**
   * Key logs of deleted accounts, for members of connections with rosters that name these accounts.
   */
  departed_key_logs: {
    connection_id: string
    /** SHA-256 of the account's id, hex. */
    account_hash: string
    seq: number
    entry: string
    stored_at: number
  }
  chat_turns: {
    id: string
    account_id: string
    conversation_id: string
    message: string
    /** The part of the answer that was received; null if there is none. */
    answer: string | null
    rating: 'up' | 'down' | null
    comment: string | null
    created_at: number
  }
  feedback: {
    id: string
    account_id: string
    message: string
    category: string | null
    created_at: number
  }
  invitations: {
    id: string
    connection_id: string
    /** The inviter's name for the connection when the invitation was sent. */
    connection_name: string
    from_account: string
    /** The invited account; null for an invited mailbox until an account approves. */
    to_account: string | null
    /** In lower case. */
    to_email: string | null
    /**
     * The stored state. `expired` is stored some time after the expiry. Until then, `pending`
     * counts as expired after `expires_at` (see `stateOf`).
     */
    state: 'pending' | 'approved' | 'declined' | 'withdrawn' | 'expired'
    /**
     * Whether owners may add the account. 0: no. 1: yes, because the account has approved. 2: the
     * account was added. Back to 0: the account left or was removed. 2 while the state is pending:
     * the mailbox's account was a member and has left, so the invitation can no longer be used.
     */
    consent: 0 | 1 | 2
    /** The consent, signed by a device of the invited account (docs/protocol.md section 4). */
    consent_jws: string | null
    message: string | null
    created_at: number
    expires_at: number
  }
  /** Connections that were opened to replace a forked one. */
  replacements: {
    connection_id: string
    /** The id of the forked connection, which may be unknown to this server. */
    replaces: string
    /**
     * The fork: two entries at one position of the roster, as sent by the opener; null if the
     * opener sent none.
     */
    fork_one: string | null
    fork_other: string | null
  }
  /** First contacts by four words: the messages that two devices exchange through this server. */
  first_contacts: {
    invitation_id: string
    /** The session id of the exchange: 16 bytes, base64url. */
    sid: string
    /** The inviter's device, which chose the words. */
    device_id: string
    /** The invited account and its device, which sent the first message; null before that. */
    invitee_id: string | null
    invitee_device: string | null
    message_0: string | null
    message_1: string | null
    message_2: string | null
    expires_at: number
  }
  /** The accounts that each account follows. */
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
    /**
     * The device that sealed the envelope; null in rows of old versions, in which the sending
     * device always belonged to the recipient's account.
     */
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
    external_member_id: string | null
    /** When the owner was notified that the code is about to end; null before that. */
    ending_noticed_at: number | null
  }
  stamps: {
    id: string
    account_id: string
    /**
     * The stamp's words as a number of 36 bits. They are unique, so that a look-up finds one stamp.
     */
    words: number
    stamp: string
    receipt: string
  }
  verifications: {
    account_id: string
    id: string
    /** The entry as JSON, exactly as the device sent it. */
    entry: string
  }
}

/**
 * The tables of the account server, as queries see them. Ids are text, times Unix milliseconds;
 * signed structures are stored as received. The comments here give the purpose of each table; its
 * SQL is in `migrations/`. `test/service/schema.test.ts` compares both.
 */

/** A column of which the database permits null, although every row has a value. */
type AlwaysSet<T> = T

export interface Schema {
  accounts: {
    id: string
    kind: 'person' | 'machine'
    display_name: string
    /** A name that is unique on the server, if the person chose one. */
    handle: string | null
    headline: string | null
    /**
     * The signed profile with the name (docs/protocol.md section 4a); null before a device signed
     * one.
     */
    profile: string | null
  }
  /** The chosen preferences. A missing row, or null, means the default. */
  preferences: {
    account_id: string
    locale: string | null
    time_zone: string | null
    public_code: 0 | 1
    email_notifications: 0 | 1
    /** Whether others can find the account by a mailbox that it has proven. */
    findable_by_email: 0 | 1
  }
  /** Secrets of public codes, which the account server needs (docs/protocol.md section 6). */
  public_codes: {
    account_id: string
    /** 32 bytes, base64url; null once the owner switched the code off. */
    k: string | null
    /**
     * Increases with every change of any public code. Caches query the changes since their last
     * turn.
     */
    turn: number
  }
  /**
   * One row: the newest turn. The transaction that takes the next turn locks it, so turns are in
   * commit order.
   */
  public_code_turns: {
    id: 1
    turn: number
  }
  /** Attempts that count towards a rate limit, until they expire. */
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
    id: string
    expires_at: number
  }
  /** Proven mailboxes, in lower case. A code sent to one signs in to its account. */
  emails: {
    address: string
    account_id: string
    is_primary: 0 | 1
    verified_at: number
    /** The sort key of lists: the id of the claim, or one made with the row. */
    id: AlwaysSet<string>
    /** When it was claimed; null for a mailbox that was proven when the account was made. */
    created_at: number | null
  }
  /** Mailboxes that an account added, until the mailed link is used. */
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
    /** Its public keys as JSON while no key log contains them; null since. */
    keys: string | null
    /** RFC 7638 thumbprint of its authentication key, to which its sessions are bound. */
    auth_kid: string
    /** Its newest sealing key: 1,216 bytes, base64url. */
    seal_key: string
    created_at: number
    /** When it posted its check of the key log; null for a pending device. */
    approved_at: number | null
    revoked_at: number | null
    /** When it was last seen in a session that has ended; null for none. */
    seen_before_at: number | null
  }
  /** The newest approval attempt of each pending device (docs/protocol.md section 3). */
  device_approvals: {
    device_id: string
    /** As the devices send them: base64url, and JSON. */
    commitment: string
    begun_at: number
    /** The device that answered; null before. */
    answered_by: string | null
    answer: string | null
    reveal: string | null
  }
  key_log_entries: {
    account_id: string
    seq: number
    entry: string
    /** When this server received it; the time inside an entry has no effect. */
    stored_at: number
  }
  enrolment_codes: {
    /** The part of the code that identifies it. */
    locator: string
    /** SHA-256 of the secret part. */
    secret_hash: string
    /** The account that it may enrol: the one it was made for, else the first that used it. */
    account_id: string | null
    /** The mailbox it was sent to; null for a code made by the operator. */
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
    active_organisation_id: string | null
    /** The time of that choice; null for none, and if no time was recorded. */
    active_since: number | null
    /**
     * 1 once its device has proven its key: until then, any holder of a code may have opened it.
     * 2 for the embedded daemon in the server's process, which gives no proof.
     */
    proven: number
  }
  /**
   * Access tokens of sessions. Several are valid at once, so that concurrent renewals do not end
   * each other's.
   */
  access_tokens: {
    hash: string
    session_id: string
    expires_at: number
  }
  /**
   * Values that are accepted once across replicas, until they expire: proofs and assertions. Also
   * the places of mails to readers who did not ask for them (`mail-allowance.ts`).
   */
  seen_once: {
    id: string
    expires_at: number
  }
  /** Secrets that all replicas share. */
  server_secrets: {
    name:
      | 'nonce'
      | 'download links'
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
    /** Made at the invitation or when the member joined; the sort key of lists. */
    member_id: AlwaysSet<string>
    /**
     * null for members without an invitation: the founder and machines. `email`, the invited
     * mailbox in lower case, is null for them too.
     */
    invited_at: number | null
    email: string | null
  }
  /** Invited mailboxes: an account that proves one becomes a member. */
  organisation_invites: {
    /** The later `member_id` of the member. */
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
    /** null for no actor, and for a deleted account. */
    actor_id: string | null
    event: string
    /** The id of the subject. */
    target: string | null
    /** Texts by name, as JSON. */
    data: string
  }
  /**
   * Activity counts: over all time, by day and event, by day and actor. They are updated at each
   * write, so that no query grows with the history.
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
  /** As far back as the window of an alert may begin. */
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
  /** The data of a machine account beside its account row. */
  machines: {
    /** `mch_…`, which its key file and its assertions name. */
    id: string
    /** Until its first device enrols, the same as `id`: account ids are derived from keys. */
    account_id: string
    organisation_id: string
    /** RFC 7638 thumbprint and public key of the key that signs its assertions. */
    kid: string
    key: string
    /** The account that made it; empty once that was deleted. */
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
     * 1: made by the token endpoint. Its clients get one every hour, so it is deleted after it
     * expires.
     */
    granted: 0 | 1
    created_at: number
    expires_at: number | null
    revoked_at: number | null
    last_used_at: number | null
  }
  /** Answers to POST requests with an Idempotency-Key. */
  idempotency: {
    /** The owner of the key: the device or the token. */
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
    /** When an owner ended it for all members; null while it is open. */
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
    /** In seconds. */
    invitation_expires_in: number | null
    /** At most one of an account. */
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
     * `unconfirmed`: the mailed link was not used yet, and the owner does not see the request.
     */
    state: 'unconfirmed' | 'pending' | 'approved' | 'declined'
    /** SHA-256 of the token in the mailed link; null once it was used. */
    token_hash: string | null
    /** The connection made by the approval. */
    connection_id: string | null
    created_at: number
    /** Of the mailed link; null once it was used. */
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
    /** Ids by name, as JSON. */
    data: string
    read_at: number | null
    created_at: number
  }
  exports: {
    id: string
    account_id: string
    /**
     * `expired`: its file is deleted. A `ready` export counts as expired once its time has
     * passed.
     */
    state: 'queued' | 'building' | 'ready' | 'failed' | 'expired'
    /** In per cent. */
    progress: number
    size_bytes: number | null
    error: string | null
    /**
     * The server that builds it, and the end of its lease, after which another server continues.
     */
    builder: string | null
    builder_until: number | null
    created_at: number
    finished_at: number | null
    expires_at: number | null
  }
  /** The file of an export in pieces, so that every replica can send it. */
  export_parts: {
    export_id: string
    seq: number
    bytes: Uint8Array
  }
  /**
   * The accounts that the roster of a connection names, members or not. Their key logs are needed
   * to verify its entries.
   */
  roster_accounts: {
    connection_id: string
    /** SHA-256 of the account's id, hex. */
    account_hash: string
    /** The epoch of the connection when the account was deleted; null for an existing account. */
    departed_epoch: number | null
  }
  /**
   * Key logs of deleted accounts, for members of the connections with entries that they signed.
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
    /** The received part; null for none. */
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
    /** The inviter's name for the connection at the time. */
    connection_name: string
    from_account: string
    /** The invited account, or a mailbox until the account that proves it approves. */
    to_account: string | null
    /** In lower case. */
    to_email: string | null
    /**
     * The stored state. `expired` is stored after the end has passed; until then, a pending
     * invitation past its end counts as expired.
     */
    state: 'pending' | 'approved' | 'declined' | 'withdrawn' | 'expired'
    /**
     * Whether owners may add the account. 1: it approved, and their devices are notified. 2: it
     * was added. 0 again: it left or was removed. 2 while the state is pending: the account of
     * the mailbox was a member and has left since, so the invitation is used.
     */
    consent: 0 | 1 | 2
    /** The consent that a device of the invited account signed (docs/protocol.md section 4). */
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
     * Two entries at one position of its roster, as given by the opener; null if none were given.
     */
    fork_one: string | null
    fork_other: string | null
  }
  /** First contacts by four words: the messages that two devices exchange through this server. */
  first_contacts: {
    invitation_id: string
    /** The session id of the run: 16 bytes, base64url. */
    sid: string
    /** The device that made the words. */
    device_id: string
    /** The account and device that began the run; null before. */
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
    /** The device that sealed it; null for an old row, when it was always of the same account. */
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
  }
  stamps: {
    id: string
    account_id: string
    /** The 36 bits of its words, unique so that a look-up finds one stamp. */
    words: number
    stamp: string
    receipt: string
  }
  verifications: {
    account_id: string
    id: string
    /** The entry as JSON, as written by its device. */
    entry: string
  }
}

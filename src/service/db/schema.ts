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
    /** The signed profile with the name (section 6); null before a device has signed one. */
    profile: string | null
  }
  /** What was chosen; without a row, or with null, the default. */
  preferences: {
    account_id: string
    locale: string | null
    time_zone: string | null
    public_code: 0 | 1
    email_notifications: 0 | 1
    /** Whether others find the account by a mailbox that it has proven. */
    findable_by_email: 0 | 1
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
  /** Proven mailboxes, in lower case: each opens one account. */
  emails: {
    address: string
    account_id: string
    is_primary: 0 | 1
    verified_at: number
    /** What lists are in order of: that of its claim, or made with the row. */
    id: string
    /** When it was claimed; null for a mailbox that was proven as the account began. */
    created_at: number | null
  }
  /** Mailboxes that an account wants to have, until a link that was mailed there proves that it may. */
  email_claims: {
    id: string
    account_id: string
    address: string
    /** SHA-256 of what the link holds. */
    token_hash: string
    created_at: number
    expires_at: number
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
    /** Its newest sealing key: 1,216 bytes, base64url. */
    seal_key: string
    created_at: number
    /** When it posted its check of the key log; null for a further device that waits. */
    approved_at: number | null
    revoked_at: number | null
    /** When it was last seen in a session that was ended since; null for none. */
    seen_before_at: number | null
  }
  /** The newest attempt of each further device to be approved (section 4), until it is. */
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
    active_organisation_id: string | null
    /** Since when it is that one; null for none, and where nobody noted it. */
    active_since: number | null
    /**
     * 1 once its device has proven its key: until then anybody with a code may have opened it. 2 for the daemon in the server's own
     * process, which proves nothing.
     */
    proven: number
  }
  /** Access tokens of sessions: several live beside each other, so that two renewals at once end nobody's. */
  access_tokens: {
    hash: string
    session_id: string
    expires_at: number
  }
  /**
   * What must come in once only, across replicas, until it would be too old anyway: proofs and assertions. And the mails that go to
   * whoever did not ask for them, each in one of a few places.
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
    /** Made when it was invited or joined; what lists are in order of. */
    member_id: string
    /** null for who joined without: who made the organisation, and machines. So is the mailbox that was invited, in lower case. */
    invited_at: number | null
    email: string | null
  }
  /** Mailboxes that were invited: whoever proves one is a member from then on. */
  organisation_invites: {
    /** The `member_id` of whoever comes. */
    id: string
    organisation_id: string
    /** In lower case. */
    email: string
    role: 'owner' | 'admin' | 'member'
    /** Nobody joins by one that is suspended. */
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
    /** null for nobody, and for somebody whose account was deleted. */
    actor_id: string | null
    event: string
    /** The id of what it is about. */
    target: string | null
    /** Texts by name, as JSON. */
    data: string
  }
  /** Activities counted as they are written, so that no answer grows with the history: of all time, by day and event, by day and actor. */
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
  /** What a machine account has beside an account. */
  machines: {
    /** `mch_…`, which its key file and its assertions name. */
    id: string
    /** Until its first device enrols, the same as `id`: account ids follow from keys. */
    account_id: string
    organisation_id: string
    /** RFC 7638 thumbprint and public key of what signs its assertions. */
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
    /** When an owner ended it for all members; null while it goes on. */
    ended_at: number | null
  }
  /** An active member of a connection, and what they call it. */
  memberships: {
    account_id: string
    connection_id: string
    role: 'owner' | 'member'
    name: string
    favorite: 0 | 1
    updated_at: number
    preset_id: string | null
  }
  /** A tag is its account's own: other members of a connection do not see it. */
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
  /** What a new connection begins with. */
  presets: {
    id: string
    account_id: string
    name: string
    favorite: 0 | 1
    invite_message: string | null
    /** In seconds. */
    invitation_expires_in: number | null
    /** One of an account at most. */
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
    /** Unconfirmed: the link that was mailed was not followed yet, and the owner sees nothing of it. */
    state: 'unconfirmed' | 'pending' | 'approved' | 'declined'
    /** SHA-256 of what the mailed link holds; null once it was followed. */
    token_hash: string | null
    /** What the approval made. */
    connection_id: string | null
    created_at: number
    /** Of the mailed link; null once it was followed. */
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
    /** Expired: its file is deleted. One that is ready has expired by the clock before that. */
    state: 'queued' | 'building' | 'ready' | 'failed' | 'expired'
    /** In per cent. */
    progress: number
    size_bytes: number | null
    error: string | null
    /** Whoever builds it, and until when it is believed to: another goes on after that. */
    builder: string | null
    builder_until: number | null
    created_at: number
    finished_at: number | null
    expires_at: number | null
  }
  /** The file of an export in pieces: every replica can send it. */
  export_parts: {
    export_id: string
    seq: number
    bytes: Uint8Array
  }
  /** Whom the roster of a connection names, members or not: whose key logs its entries are checked by. */
  roster_accounts: {
    connection_id: string
    /** SHA-256 of the account's id, hex. */
    account_hash: string
    /** The epoch of the connection when the account was deleted; null for one that is there. */
    departed_epoch: number | null
  }
  /** Key logs of accounts that were deleted, for the members of the connections whose history they signed. */
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
    /** As far as it came; null for none. */
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
    /** What the inviter called the connection then. */
    connection_name: string
    from_account: string
    /** Whom it is for: an account, or a mailbox until whoever proves that one approves. */
    to_account: string | null
    /** In lower case. */
    to_email: string | null
    /**
     * As decided. Expired: noted once its end had passed; until then one that is pending for too
     * long has expired by the clock.
     */
    state: 'pending' | 'approved' | 'declined' | 'withdrawn' | 'expired'
    /**
     * Whether owners may take the account in: 1 since it approved, which their devices are told; 2 once it was; 0 again when it left or was removed.
     * 2 while it is pending: whoever has the mailbox was a member and went since, so it has served.
     */
    consent: 0 | 1 | 2
    /** The consent that a device of the invited account signed (section 6). */
    consent_jws: string | null
    message: string | null
    created_at: number
    expires_at: number
  }
  /** Connections that were opened to replace a forked one. */
  replacements: {
    connection_id: string
    /** The id of the forked connection, which this server need not know. */
    replaces: string
    /** Two entries at one place of its roster, as the opener gave them; null where it gave none. */
    fork_one: string | null
    fork_other: string | null
  }
  /** First contacts by four words: what two devices send each other through this server. */
  first_contacts: {
    invitation_id: string
    /** The session id of the run: 16 bytes, base64url. */
    sid: string
    /** The device that made the words. */
    device_id: string
    /** The account and device that began; null before. */
    invitee_id: string | null
    invitee_device: string | null
    message_0: string | null
    message_1: string | null
    message_2: string | null
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
    external_member_id: string | null
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

/** The first version of protocol 2. Older ones were written by protocol 1 and are rejected. */
export const FIRST_STATE_VERSION = 13

/**
 * The versions of `state.db`: entry n migrates a database from version n to n + 1. A released
 * entry is never edited; a change is a new entry. Integer times are Unix milliseconds.
 */
export const VERSIONS: readonly string[] = [
  `
  create table meta (
    key text primary key,
    value text not null
  ) strict, without rowid;

  create table tokens (
    hash text primary key,
    id text not null unique,
    created_at integer not null,
    revoked_at integer,
    last_used_at integer
  ) strict, without rowid;

  create table secrets (
    id text primary key,
    version integer not null,
    sealed blob not null
  ) strict, without rowid;

  create table connections (
    id text primary key,
    name text not null,
    epoch integer not null,
    head blob not null check (length(head) = 32),
    members text not null,
    updated_at integer not null
  ) strict, without rowid;

  create table guests (
    id text primary key,
    label text not null,
    state text not null,
    expires_at integer not null,
    created_at integer not null
  ) strict, without rowid;

  create table logs (
    kind text not null check (kind in ('keylog', 'roster')),
    subject text not null,
    seq integer not null check (seq >= 0),
    entry text not null,
    primary key (kind, subject, seq)
  ) strict, without rowid;

  create table replays (
    subject text not null,
    epoch integer not null,
    speaker text not null,
    "window" integer not null,
    first_at integer not null,
    primary key (subject, epoch, speaker, "window")
  ) strict, without rowid;
  create index replays_by_window on replays ("window");

  create table replays_highest (
    one integer primary key check (one = 1),
    "window" integer not null
  ) strict;

  create table verifications (
    id text primary key,
    at text not null,
    method text not null,
    outcome text not null,
    matches text not null,
    caller text,
    pushed integer not null check (pushed in (0, 1))
  ) strict, without rowid;
  create index verifications_unpushed on verifications (id) where pushed = 0;

  create table stamps (
    id text primary key,
    jws text not null,
    receipt text,
    created_at integer not null
  ) strict, without rowid;
  create index stamps_without_receipt on stamps (id) where receipt is null;
  `,
  `
  create table idempotency (
    caller text not null,
    key text not null,
    fingerprint text not null,
    act blob not null check (length(act) = 16),
    at integer not null,
    answer text,
    primary key (caller, key)
  ) strict, without rowid;
  create index idempotency_by_age on idempotency (at);
  `,
  // The reason for which a connection is suspended, the second of its two histories, and the
  // names under which accounts were accepted.
  `
  alter table connections add column hold text check (hold in ('rotation_pending', 'roster_forked'));
  -- To count and to list them, too: the table itself is ten times as large.
  create index connections_by_hold on connections (hold);

  create table forks (
    connection text not null,
    seq integer not null,
    entry text not null,
    primary key (connection, seq, entry)
  ) strict, without rowid;

  create table invites (
    connection text not null,
    target text not null,
    invitation text,
    again integer not null check (again in (0, 1)),
    seq integer not null,
    until integer not null,
    primary key (connection, target)
  ) strict, without rowid;

  create table names (
    account text primary key,
    name text not null
  ) strict, without rowid;

  create table trust (
    account text primary key,
    pinned integer not null,
    confirmed integer not null check (confirmed in (0, 1)),
    seq integer not null,
    newest integer not null,
    shown integer not null,
    refused text,
    checked_at integer not null
  ) strict, without rowid;
  `,
  // An owner may end a connection for all members. SQLite changes a check only by recreating the
  // table.
  `
  create table connections_before as select * from connections;
  drop table connections;
  create table connections (
    id text primary key,
    name text not null,
    epoch integer not null,
    head blob not null check (length(head) = 32),
    members text not null,
    updated_at integer not null,
    hold text check (hold in ('rotation_pending', 'roster_forked', 'ended'))
  ) strict, without rowid;
  insert into connections (id, name, epoch, head, members, updated_at, hold)
    select id, name, epoch, head, members, updated_at, hold from connections_before;
  drop table connections_before;
  create index connections_by_hold on connections (hold);
  `,
  // The external member of a guest code. The next sync fills it in for older codes.
  `
  alter table guests add column external_member_id text;
  alter table guests add column external_member_name text;
    `,
  // The account of tokens with no account in their keychain record: the account signed in at this
  // upgrade.
  `
  alter table tokens add column legacy_account text;
  update tokens set legacy_account =
    (select json_extract(value, '$.account') from meta where key = 'identity');
  `,
  // Wrong words in a row, so that a restart does not reset the count.
  `
  create table wrong_tries (
    caller text not null,
    expected integer not null check (expected in (0, 1)),
    in_row integer not null check (in_row >= 0),
    paused_from integer,
    boot text,
    primary key (caller, expected)
  ) strict, without rowid;
  `,
  // Challenges, so that a restart gives no more attempts.
  `
  create table challenges (
    id text primary key,
    connection text,
    state text not null check (state in ('open', 'ended', 'used')),
    uptime_ms integer not null,
    boot text,
    word integer check (word between 0 and 4095),
    purpose text,
    check ((state = 'open') = (word is not null)),
    check ((word is null) = (purpose is null))
  ) strict, without rowid;
  `,
  // First contacts by four words, and the attempts of others to use words.
  `
  create table first_contacts (
    invitation text primary key,
    connection text not null,
    role text not null check (role in ('inviter', 'invitee')),
    peer text not null,
    sid text not null,
    state text not null check (state in ('open', 'answered', 'confirmed', 'failed')),
    reason text,
    started_at integer not null,
    until integer not null
  ) strict, without rowid;

  create table contact_tries (
    invitation text not null,
    at integer not null
  ) strict;
  create index contact_tries_by_invitation on contact_tries (invitation);
  `,
  // Attempts to approve another device, so that a restart does not reset their count.
  `
  create table approval_attempts (
    id integer primary key,
    side text not null check (side in ('approving', 'new')),
    at integer not null
  ) strict;
  create index approval_attempts_by_time on approval_attempts (side, at);
  `,
  // Sealing keys. The account server sends their bytes beside key logs.
  `
  create table seal_keys (
    account text not null,
    id text not null,
    key blob not null,
    primary key (account, id)
  ) strict, without rowid;
  `,
  // The consents that this device signed, until its account becomes a member by them.
  `
  create table consents (
    hash text primary key,
    connection text not null,
    invitation text not null,
    at integer not null,
    withdrawn integer not null check (withdrawn in (0, 1))
  ) strict, without rowid;
  create index consents_by_connection on consents (connection);
  `,
  // When this device first saw the current epoch of each connection, for routine rotations.
  `
  create table epochs (
    connection text primary key,
    epoch integer not null,
    seen_at integer not null
  ) strict, without rowid;
  create index epochs_by_age on epochs (seen_at);

  -- When all devices of a followed account were replaced with its recovery key, until the person
  -- dismisses it; and whether they were replaced without one that was in force.
  alter table trust add column recovered_at integer;
  alter table trust add column key_unused integer not null default 0 check (key_unused in (0, 1));

  -- Connections whose history forked, and those that replace them.
  create table forked (
    connection text primary key,
    seen_at integer not null,
    act blob not null check (length(act) = 16),
    replaced_by text,
    settled integer not null default 0 check (settled in (0, 1))
  ) strict, without rowid;

  create table replacements (
    connection text primary key,
    replaces text not null,
    opener text not null
  ) strict, without rowid;
  create index replacements_by_forked on replacements (replaces);

  -- The code key of the epoch before a routine rotation; the vault has the key.
  create table former_epochs (
    connection text primary key,
    epoch integer not null,
    speakers text not null,
    kept_at integer not null,
    looked_at integer not null
  ) strict, without rowid;

  -- Names by what they rest on, in the form in which they are compared, and signed profiles.
  drop table names;
  create table names (
    account text not null,
    kind text not null check (kind in ('accepted', 'self', 'confirmed', 'given')),
    name text not null,
    comparable text not null,
    primary key (account, kind)
  ) strict, without rowid;
  create index names_by_comparable on names (comparable);
  create table profiles (
    account text not null,
    device text not null,
    n integer not null,
    name text not null,
    hash blob not null check (length(hash) = 32),
    jws text not null,
    primary key (account, device)
  ) strict, without rowid;
  create table connection_members (
    connection text not null,
    account text not null,
    primary key (connection, account)
  ) strict, without rowid;
  create index connection_members_by_account on connection_members (account);
  alter table connections add column comparable text not null default '';
  create index connections_by_comparable on connections (comparable);
  alter table guests add column comparable text not null default '';
  alter table guests add column external_comparable text;
  create index guests_by_comparable on guests (comparable);
  create index guests_by_external_comparable on guests (external_comparable);
  `,
  // A confirmation names the safety number that was compared; challenges count for each caller.
  `
  alter table trust drop column shown;
  alter table challenges add column caller text;
  alter table consents add column declined integer not null default 0 check (declined in (0, 1));

  -- Of a reset in a key log with a recovery_sig: the recovery key that made it, \`x\` of its JWK.
  alter table logs add column voucher text;

  -- What a person may have read of invitations before they approve one by its id.
  create table listed_invitations (
    id text primary key,
    connection text not null,
    inviter text not null,
    changed integer not null check (changed in (0, 1)),
    listed_at integer not null,
    reader text
  ) strict, without rowid;
  create index listed_invitations_by_age on listed_invitations (listed_at);
  `,
]

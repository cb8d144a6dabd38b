import type { Migration } from '../../storage/migrations.ts'

/**
 * The tables of the first release. The modules of `src/state` describe the columns. Times stored as
 * integers are Unix milliseconds. Earlier versions were never released.
 */
export const stateVersion14: Migration<string> = {
  version: 14,
  statements: `
  -- Facts about this device by name, as JSON.
  create table meta (
    key text primary key,
    value text not null
  ) strict, without rowid;

  -- API tokens. The keychain has their scope, lifetime and account; legacy_account is not used.
  create table tokens (
    hash text primary key,
    id text not null unique,
    created_at integer not null,
    revoked_at integer,
    last_used_at integer,
    legacy_account text
  ) strict, without rowid;

  -- Secrets of connections and guest codes, sealed under the cache key.
  create table secrets (
    id text primary key,
    version integer not null,
    sealed blob not null
  ) strict, without rowid;

  -- Guest codes, and the external member that each is for.
  create table guests (
    id text primary key,
    label text not null,
    state text not null,
    expires_at integer not null,
    created_at integer not null,
    external_member_id text,
    external_member_name text,
    comparable text not null default '',
    external_comparable text
  ) strict, without rowid;
  create index guests_by_comparable on guests (comparable);
  create index guests_by_external_comparable on guests (external_comparable);

  -- Verified entries of key logs and rosters. voucher, for a reset with a recovery_sig: the
  -- recovery key that made it, x of its JWK.
  create table logs (
    kind text not null check (kind in ('keylog', 'roster')),
    subject text not null,
    seq integer not null check (seq >= 0),
    entry text not null,
    voucher text,
    primary key (kind, subject, seq)
  ) strict, without rowid;

  -- Words that verified once, and the highest window of any.
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

  -- Checks of words, for the verification log.
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

  -- Stamps of this device, and the receipts of the account server.
  create table stamps (
    id text primary key,
    jws text not null,
    receipt text,
    created_at integer not null
  ) strict, without rowid;
  create index stamps_without_receipt on stamps (id) where receipt is null;

  -- Operations under an idempotency key.
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

  -- The second history of a forked connection.
  create table forks (
    connection text not null,
    seq integer not null,
    entry text not null,
    primary key (connection, seq, entry)
  ) strict, without rowid;

  -- The accounts and mailboxes that this device invited.
  create table invites (
    connection text not null,
    target text not null,
    invitation text,
    again integer not null check (again in (0, 1)),
    seq integer not null,
    until integer not null,
    primary key (connection, target)
  ) strict, without rowid;

  -- Keys of followed accounts: what the user saw first or confirmed. recovered_at: when all
  -- devices were replaced with the recovery key, until the user dismisses it. key_unused: whether
  -- they were replaced without one that was in force.
  create table trust (
    account text primary key,
    pinned integer not null,
    confirmed integer not null check (confirmed in (0, 1)),
    seq integer not null,
    newest integer not null,
    refused text,
    checked_at integer not null,
    recovered_at integer,
    key_unused integer not null default 0 check (key_unused in (0, 1))
  ) strict, without rowid;

  -- Connections, and why each is suspended.
  create table connections (
    id text primary key,
    name text not null,
    epoch integer not null,
    head blob not null check (length(head) = 32),
    members text not null,
    updated_at integer not null,
    hold text check (hold in ('rotation_pending', 'roster_forked', 'ended')),
    comparable text not null default ''
  ) strict, without rowid;
  -- To count and to list them, too: the table itself is ten times as large.
  create index connections_by_hold on connections (hold);
  create index connections_by_comparable on connections (comparable);

  -- Wrong words in a row, so that a restart does not reset the count.
  create table wrong_tries (
    caller text not null,
    expected integer not null check (expected in (0, 1)),
    in_row integer not null check (in_row >= 0),
    paused_from integer,
    boot text,
    primary key (caller, expected)
  ) strict, without rowid;

  -- Challenges, so that a restart gives no more attempts.
  create table challenges (
    id text primary key,
    connection text,
    state text not null check (state in ('open', 'ended', 'used')),
    uptime_ms integer not null,
    boot text,
    word integer check (word between 0 and 4095),
    purpose text,
    caller text,
    check ((state = 'open') = (word is not null)),
    check ((word is null) = (purpose is null))
  ) strict, without rowid;

  -- First contacts by four words, and the attempts of others to use words.
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

  -- Attempts to approve another device, so that a restart does not reset their count.
  create table approval_attempts (
    id integer primary key,
    side text not null check (side in ('approving', 'new')),
    at integer not null
  ) strict;
  create index approval_attempts_by_time on approval_attempts (side, at);

  -- Sealing keys. The account server sends their bytes beside key logs.
  create table seal_keys (
    account text not null,
    id text not null,
    key blob not null,
    primary key (account, id)
  ) strict, without rowid;

  -- Consents that this device signed, until its account becomes a member by them.
  create table consents (
    hash text primary key,
    connection text not null,
    invitation text not null,
    at integer not null,
    withdrawn integer not null check (withdrawn in (0, 1)),
    declined integer not null default 0 check (declined in (0, 1))
  ) strict, without rowid;
  create index consents_by_connection on consents (connection);

  -- When this device first saw the current epoch of each connection, for routine rotations.
  create table epochs (
    connection text primary key,
    epoch integer not null,
    seen_at integer not null
  ) strict, without rowid;
  create index epochs_by_age on epochs (seen_at);

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

  -- Epochs before routine rotations. The vault keeps their code keys for a while.
  create table former_epochs (
    connection text primary key,
    epoch integer not null,
    speakers text not null,
    kept_at integer not null,
    looked_at integer not null
  ) strict, without rowid;

  -- Names by what they rest on, with the form in which they are compared; and signed profiles.
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

  -- Members by connection, to find the connections of an account.
  create table connection_members (
    connection text not null,
    account text not null,
    primary key (connection, account)
  ) strict, without rowid;
  create index connection_members_by_account on connection_members (account);

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
}

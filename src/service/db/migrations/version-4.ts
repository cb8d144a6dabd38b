/**
 * Version 4 of the schema: labels of a person, and requests to the server. In SQL for both SQLite
 * and PostgreSQL.
 * @param id the SQL type of ids for the engine
 */
export const fourth = (id: string) => [
  `create table tags (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    name text not null,
    color text,
    created_at bigint not null
  )`,
  `create index tags_of_account on tags (account_id, id)`,
  `create table tag_assignments (
    account_id ${id} not null,
    connection_id ${id} not null,
    tag_id ${id} not null references tags on delete cascade,
    primary key (account_id, connection_id, tag_id),
    foreign key (account_id, connection_id) references memberships (account_id, connection_id) on delete cascade
  )`,
  `create index tag_assignments_by_tag on tag_assignments (tag_id)`,
  `create table presets (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    name text not null,
    favorite integer not null,
    invite_message text,
    invitation_expires_in bigint,
    is_default integer not null,
    created_at bigint not null
  )`,
  `create index presets_of_account on presets (account_id, id)`,
  `create unique index presets_that_are_default on presets (account_id) where is_default = 1`,
  `create table preset_tags (
    preset_id ${id} not null references presets on delete cascade,
    tag_id ${id} not null references tags on delete cascade,
    primary key (preset_id, tag_id)
  )`,
  `create index preset_tags_by_tag on preset_tags (tag_id)`,
  `alter table memberships add column preset_id ${id} references presets on delete set null`,
  `create index memberships_by_preset on memberships (preset_id)`,
  `alter table invitations add column message text`,
  `create table open_links (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    slug ${id} not null,
    title text not null,
    state text not null,
    preset_id ${id} references presets on delete set null,
    created_at bigint not null
  )`,
  `create unique index open_links_by_slug on open_links (slug)`,
  `create index open_links_of_account on open_links (account_id, id)`,
  `create index open_links_by_preset on open_links (preset_id)`,
  `create table open_link_requests (
    id ${id} primary key,
    open_link_id ${id} not null references open_links on delete cascade,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    display_name text not null,
    email ${id} not null,
    message text,
    state text not null,
    token_hash ${id} unique,
    connection_id ${id} references connections on delete set null,
    created_at bigint not null,
    expires_at bigint
  )`,
  `create index open_link_requests_of_account on open_link_requests (account_id, id)`,
  `create index open_link_requests_in_state on open_link_requests (account_id, state, created_at)`,
  `create index open_link_requests_of_link on open_link_requests (open_link_id, state)`,
  `create index open_link_requests_by_expiry on open_link_requests (expires_at)`,
  `create index open_link_requests_of_connection on open_link_requests (connection_id)`,
  `create table external_members (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    display_name text not null,
    email text,
    phone text,
    note text,
    created_at bigint not null
  )`,
  `create index external_members_of_account on external_members (account_id, id)`,
  `alter table guest_codes add column external_member_id ${id} references external_members on delete set null`,
  `create index guest_codes_of_external_member on guest_codes (external_member_id)`,
  `create table notifications (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    kind text not null,
    title text not null,
    body text not null,
    data text not null,
    read_at bigint,
    created_at bigint not null
  )`,
  `create index notifications_of_account on notifications (account_id, id)`,
  `alter table devices add column seen_before_at bigint`,
  `alter table sessions add column active_organisation_id ${id} references organisations on delete set null`,
  `create index sessions_by_organisation on sessions (active_organisation_id)`,
  `alter table emails add column id ${id}`,
  `alter table emails add column created_at bigint`,
  `create table email_claims (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    address ${id} not null,
    token_hash ${id} not null unique,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  `create unique index email_claims_of_account on email_claims (account_id, address)`,
  `create index email_claims_by_address on email_claims (address)`,
  `create index email_claims_by_end on email_claims (expires_at)`,
  `create table exports (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    state text not null,
    progress integer not null,
    size_bytes bigint,
    error text,
    builder ${id},
    builder_until bigint,
    created_at bigint not null,
    finished_at bigint,
    expires_at bigint
  )`,
  `create index exports_of_account on exports (account_id, id)`,
  `create index exports_by_state on exports (state, expires_at)`,
  // SQLite accepts any type name, and stores bytes as bytes.
  `create table export_parts (
    export_id ${id} not null references exports on delete cascade,
    seq integer not null,
    bytes bytea not null,
    primary key (export_id, seq)
  )`,
  `create table roster_accounts (
    connection_id ${id} not null references connections on delete cascade,
    account_hash ${id} not null,
    departed_epoch bigint,
    primary key (connection_id, account_hash)
  )`,
  `create index roster_accounts_by_account on roster_accounts (account_hash)`,
  `create table departed_key_logs (
    connection_id ${id} not null references connections on delete cascade,
    account_hash ${id} not null,
    seq integer not null,
    entry text not null,
    stored_at bigint not null,
    primary key (connection_id, account_hash, seq)
  )`,
  `create index departed_key_logs_by_account on departed_key_logs (account_hash, seq)`,
  `create table chat_turns (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    conversation_id ${id} not null,
    message text not null,
    answer text,
    rating text,
    comment text,
    created_at bigint not null
  )`,
  `create index chat_turns_of_conversation on chat_turns (account_id, conversation_id, id)`,
  `create table feedback (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    message text not null,
    category text,
    created_at bigint not null
  )`,
  `create index feedback_of_account on feedback (account_id, id)`,
]

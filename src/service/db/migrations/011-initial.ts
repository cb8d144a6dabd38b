import type { Migration } from '../../../storage/migrations.ts'
import type { StatementsFor } from '../engine.ts'

/**
 * The schema of the first release, in SQL for both SQLite and PostgreSQL. `schema.ts` describes the
 * tables. Versions before 11 were never released.
 */
export const accountVersion11: Migration<StatementsFor> = {
  version: 11,
  statements: (id) => [
    `create table accounts (
      id ${id} primary key,
      kind text not null,
      display_name text not null,
      handle ${id},
      headline text,
      profile text
    )`,
    `create unique index accounts_by_handle on accounts (handle)`,
    `create table preferences (
      account_id ${id} primary key references accounts on delete cascade on update cascade,
      locale text,
      time_zone text,
      public_code integer not null,
      email_notifications integer not null,
      findable_by_email integer not null default 1
    )`,
    `create table public_codes (
      account_id ${id} primary key references accounts on delete cascade on update cascade,
      k text,
      turn bigint not null
    )`,
    `create index public_codes_by_turn on public_codes (turn)`,
    `create table public_code_turns (
      id integer primary key,
      turn bigint not null
    )`,
    `insert into public_code_turns (id, turn) values (1, 0)`,
    `create table tries (
      account_id ${id} not null references accounts on delete cascade on update cascade,
      what text not null,
      id ${id} not null,
      expires_at bigint not null,
      primary key (account_id, what, id)
    )`,
    `create table emails (
      address ${id} primary key,
      account_id ${id} not null references accounts on delete cascade on update cascade,
      is_primary integer not null,
      verified_at bigint not null,
      id ${id},
      created_at bigint
    )`,
    `create index emails_of_account on emails (account_id)`,
    `create unique index emails_by_id on emails (id)`,
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
    `create table devices (
      id ${id} primary key,
      account_id ${id} not null references accounts on delete cascade on update cascade,
      name text not null,
      platform text not null,
      keys text,
      auth_kid text not null default '',
      created_at bigint not null default 0,
      approved_at bigint,
      revoked_at bigint,
      seen_before_at bigint,
      seal_key text not null default ''
    )`,
    `create index devices_of_account on devices (account_id)`,
    `create index devices_that_wait on devices (created_at) where keys is not null`,
    `create table device_approvals (
      device_id ${id} primary key references devices on delete cascade,
      commitment text not null,
      begun_at bigint not null,
      answered_by ${id},
      answer text,
      reveal text
    )`,
    `create table key_log_entries (
      account_id ${id} not null references accounts on delete cascade on update cascade,
      seq integer not null,
      entry text not null,
      stored_at bigint not null,
      primary key (account_id, seq)
    )`,
    `create table enrolment_codes (
      locator ${id} primary key,
      secret_hash text not null,
      account_id ${id},
      tries integer not null,
      expires_at bigint not null,
      email ${id},
      device_id ${id}
    )`,
    `create index enrolment_codes_by_expiry on enrolment_codes (expires_at)`,
    `create index enrolment_codes_by_email on enrolment_codes (email)`,
    `create table organisations (
      id ${id} primary key,
      name text not null,
      created_at bigint not null
    )`,
    `create table sessions (
      id ${id} primary key,
      account_id ${id} not null references accounts on delete cascade on update cascade,
      device_id ${id} not null references devices on delete cascade,
      refresh_hash ${id} not null unique,
      created_at bigint not null,
      last_seen_at bigint not null,
      proven integer not null,
      active_organisation_id ${id} references organisations on delete set null,
      active_since bigint
    )`,
    `create index sessions_of_account on sessions (account_id)`,
    `create index sessions_of_device on sessions (device_id)`,
    `create index sessions_by_organisation on sessions (active_organisation_id)`,
    `create table access_tokens (
      hash ${id} primary key,
      session_id ${id} not null references sessions on delete cascade,
      expires_at bigint not null
    )`,
    `create index access_tokens_of_session on access_tokens (session_id)`,
    `create table seen_once (
      id ${id} primary key,
      expires_at bigint not null
    )`,
    `create index seen_once_by_expiry on seen_once (expires_at)`,
    `create table server_secrets (
      name ${id} primary key,
      secret text not null
    )`,
    `create table organisation_members (
      organisation_id ${id} not null references organisations on delete cascade,
      account_id ${id} not null references accounts on delete cascade on update cascade,
      role text not null,
      state text not null,
      joined_at bigint not null,
      member_id ${id},
      invited_at bigint,
      email ${id},
      primary key (organisation_id, account_id)
    )`,
    `create index organisations_of_account on organisation_members (account_id)`,
    `create unique index organisation_members_in_order on organisation_members (organisation_id, member_id)`,
    `create table organisation_invites (
      id ${id} primary key,
      organisation_id ${id} not null references organisations on delete cascade,
      email ${id} not null,
      role text not null,
      state text not null,
      created_at bigint not null
    )`,
    `create unique index organisation_invites_by_email on organisation_invites (organisation_id, email)`,
    `create index organisation_invites_in_order on organisation_invites (organisation_id, id)`,
    `create index organisation_invites_of_mailbox on organisation_invites (email)`,
    `create table organisation_groups (
      id ${id} primary key,
      organisation_id ${id} not null references organisations on delete cascade,
      name text not null,
      description text,
      created_at bigint not null
    )`,
    `create index organisation_groups_in_order on organisation_groups (organisation_id, id)`,
    `create table organisation_group_members (
      group_id ${id} not null references organisation_groups on delete cascade,
      organisation_id ${id} not null,
      account_id ${id} not null,
      primary key (group_id, account_id),
      foreign key (organisation_id, account_id) references organisation_members (organisation_id, account_id) on delete cascade on update cascade
    )`,
    `create index organisation_group_members_by_account on organisation_group_members (organisation_id, account_id)`,
    `create table organisation_alerts (
      id ${id} primary key,
      organisation_id ${id} not null references organisations on delete cascade,
      name text not null,
      event text not null,
      threshold bigint not null,
      window_minutes bigint not null,
      enabled integer not null,
      last_fired_at bigint,
      created_at bigint not null
    )`,
    `create index organisation_alerts_in_order on organisation_alerts (organisation_id, id)`,
    `create index organisation_alerts_by_event on organisation_alerts (organisation_id, event)`,
    `create table organisation_alert_notify (
      alert_id ${id} not null references organisation_alerts on delete cascade,
      organisation_id ${id} not null,
      account_id ${id} not null,
      primary key (alert_id, account_id),
      foreign key (organisation_id, account_id) references organisation_members (organisation_id, account_id) on delete cascade on update cascade
    )`,
    `create index organisation_alert_notify_by_account on organisation_alert_notify (organisation_id, account_id)`,
    `create table organisation_activities (
      id ${id} not null,
      organisation_id ${id} not null references organisations on delete cascade,
      at bigint not null,
      actor_id ${id} references accounts on delete set null on update cascade,
      event text not null,
      target ${id},
      data text not null,
      primary key (organisation_id, id)
    )`,
    `create index organisation_activities_by_event on organisation_activities (organisation_id, event, at)`,
    `create index organisation_activities_by_actor on organisation_activities (actor_id)`,
    `create index organisation_activities_by_target on organisation_activities (target)`,
    `create table organisation_totals (
      organisation_id ${id} not null references organisations on delete cascade,
      event text not null,
      count bigint not null,
      primary key (organisation_id, event)
    )`,
    `create table organisation_event_days (
      organisation_id ${id} not null references organisations on delete cascade,
      day integer not null,
      event text not null,
      count bigint not null,
      primary key (organisation_id, day, event)
    )`,
    `create table organisation_event_minutes (
      organisation_id ${id} not null references organisations on delete cascade,
      event text not null,
      minute integer not null,
      count bigint not null,
      primary key (organisation_id, event, minute)
    )`,
    `create table organisation_actor_days (
      organisation_id ${id} not null references organisations on delete cascade,
      day integer not null,
      actor_id ${id} not null references accounts on delete cascade on update cascade,
      count bigint not null,
      primary key (organisation_id, day, actor_id)
    )`,
    `create index organisation_actor_days_by_actor on organisation_actor_days (actor_id)`,
    `create table machines (
      id ${id} primary key,
      account_id ${id} not null unique references accounts on delete cascade on update cascade,
      organisation_id ${id} not null references organisations on delete cascade,
      kid ${id} not null unique,
      key text not null,
      created_by ${id} not null,
      created_at bigint not null
    )`,
    `create index machines_of_organisation on machines (organisation_id)`,
    `create table machine_tokens (
      id ${id} primary key,
      account_id ${id} not null references accounts on delete cascade on update cascade,
      hash ${id} not null unique,
      name text not null,
      label text,
      scope text not null,
      granted integer not null,
      created_at bigint not null,
      expires_at bigint,
      revoked_at bigint,
      last_used_at bigint
    )`,
    `create index machine_tokens_of_account on machine_tokens (account_id, id)`,
    `create table idempotency (
      caller ${id} not null,
      key ${id} not null,
      fingerprint text not null,
      answer text not null,
      at bigint not null,
      primary key (caller, key)
    )`,
    `create index idempotency_by_age on idempotency (at)`,
    `create table receipt_key (
      id integer primary key check (id = 1),
      seed text not null
    )`,
    `create table connections (
      id ${id} primary key,
      epoch bigint not null,
      created_at bigint not null,
      ended_at bigint
    )`,
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
    `create table memberships (
      account_id ${id} not null references accounts on delete cascade on update cascade,
      connection_id ${id} not null references connections on delete cascade,
      role text not null,
      name text not null,
      favorite integer not null,
      updated_at bigint not null,
      preset_id ${id} references presets on delete set null,
      primary key (account_id, connection_id)
    )`,
    `create index memberships_of_connection on memberships (connection_id)`,
    `create index memberships_by_preset on memberships (preset_id)`,
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
    `create table preset_tags (
      preset_id ${id} not null references presets on delete cascade,
      tag_id ${id} not null references tags on delete cascade,
      primary key (preset_id, tag_id)
    )`,
    `create index preset_tags_by_tag on preset_tags (tag_id)`,
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
    `create table invitations (
      id ${id} primary key,
      connection_id ${id} not null references connections on delete cascade,
      connection_name text not null,
      from_account ${id} not null references accounts on delete cascade on update cascade,
      to_account ${id} references accounts on delete cascade on update cascade,
      to_email ${id},
      state text not null,
      consent integer not null,
      created_at bigint not null,
      expires_at bigint not null,
      message text,
      consent_jws text
    )`,
    `create index invitations_of_connection on invitations (connection_id)`,
    `create index invitations_sent on invitations (from_account, id)`,
    `create index invitations_received on invitations (to_account, id)`,
    `create index invitations_by_email on invitations (to_email)`,
    `create index invitations_that_wait on invitations (connection_id) where consent = 1`,
    `create table replacements (
      connection_id ${id} primary key references connections on delete cascade,
      replaces ${id} not null,
      fork_one text,
      fork_other text,
      check ((fork_one is null) = (fork_other is null))
    )`,
    `create table first_contacts (
      invitation_id ${id} primary key references invitations on delete cascade,
      sid ${id} not null,
      device_id ${id} not null references devices on delete cascade,
      invitee_id ${id} references accounts on delete cascade on update cascade,
      invitee_device ${id} references devices on delete cascade,
      message_0 text,
      message_1 text,
      message_2 text,
      expires_at bigint not null
    )`,
    `create index first_contacts_by_device on first_contacts (device_id)`,
    `create index first_contacts_by_invitee on first_contacts (invitee_id)`,
    `create index first_contacts_by_invitee_device on first_contacts (invitee_device)`,
    `create index first_contacts_by_expiry on first_contacts (expires_at)`,
    `create table trust_cards (
      account_id ${id} not null references accounts on delete cascade on update cascade,
      watched_id ${id} not null references accounts on delete cascade on update cascade,
      note text,
      created_at bigint not null,
      confirmed_at bigint,
      last_verified_at bigint,
      primary key (account_id, watched_id)
    )`,
    `create index trust_cards_in_order on trust_cards (account_id, created_at, watched_id)`,
    `create index trust_cards_of_watched on trust_cards (watched_id)`,
    `create table trust_events (
      id ${id} primary key,
      account_id ${id} not null references accounts on delete cascade on update cascade,
      watched_id ${id} not null references accounts on delete cascade on update cascade,
      at bigint not null,
      event text not null,
      detail text
    )`,
    `create index trust_events_of_card on trust_events (account_id, watched_id, id)`,
    `create table roster_entries (
      connection_id ${id} not null references connections on delete cascade,
      seq integer not null,
      entry text not null,
      primary key (connection_id, seq)
    )`,
    `create table envelopes (
      connection_id ${id} not null references connections on delete cascade,
      epoch bigint not null,
      recipient ${id} not null references devices on delete cascade,
      envelope text not null,
      sender ${id} references devices on delete set null,
      primary key (connection_id, recipient, epoch)
    )`,
    `create index envelopes_of_device on envelopes (recipient)`,
    `create index envelopes_by_sender on envelopes (sender)`,
    `create table guest_codes (
      id ${id} primary key,
      account_id ${id} not null references accounts on delete cascade on update cascade,
      label text not null,
      expires_at bigint not null,
      revoked_at bigint,
      last_opened_at bigint,
      created_at bigint not null,
      external_member_id ${id} references external_members on delete set null
    )`,
    `create index guest_codes_of_account on guest_codes (account_id, id)`,
    `create index guest_codes_of_external_member on guest_codes (external_member_id)`,
    `create table stamps (
      id ${id} primary key,
      account_id ${id} not null references accounts on delete cascade on update cascade,
      words bigint not null unique,
      stamp text not null,
      receipt text not null
    )`,
    `create index stamps_of_account on stamps (account_id)`,
    `create table verifications (
      account_id ${id} not null references accounts on delete cascade on update cascade,
      id ${id} not null,
      entry text not null,
      primary key (account_id, id)
    )`,
  ],
}

/**
 * Version 5 of the schema: invitations, groups, alerts and activity of organisations. In SQL for
 * both SQLite and PostgreSQL.
 * @param id the SQL type of ids for the engine
 */
export const fifth = (id: string) => [
  `alter table organisation_members add column member_id ${id}`,
  `alter table organisation_members add column invited_at bigint`,
  `alter table organisation_members add column email ${id}`,
  `alter table sessions add column active_since bigint`,
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
]

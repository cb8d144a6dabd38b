import type { Migration } from '../../storage/migrations.ts'

/**
 * The webhooks, with how far each has come in the events, and their last deliveries. The URL, the
 * secret and the other settings of a webhook are sealed in `secrets`, under its id.
 */
export const stateVersion16: Migration<string> = {
  version: 16,
  statements: `
  create table webhooks (
    id text primary key,
    name text,
    created_at integer not null,
    state text not null check (state in ('active', 'paused', 'given_up')),
    -- The last event that was delivered or not wanted.
    seq integer not null,
    -- The attempts for the event after it; when the first failed, and when the next one is.
    attempts integer not null,
    failing_since integer,
    next_at integer
  ) strict, without rowid;

  create table webhook_deliveries (
    webhook text not null references webhooks (id) on delete cascade,
    event text not null,
    type text not null,
    state text not null check (state in ('delivered', 'waiting', 'failed')),
    attempts integer not null,
    status integer,
    error text,
    first_at integer not null,
    last_at integer not null,
    next_at integer,
    primary key (webhook, event)
  ) strict, without rowid;
  `,
}

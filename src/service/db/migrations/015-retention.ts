import type { AccountMigration } from '../indexes.ts'

/** The indexes with which rows beyond their retention are found. */
export const accountVersion15: AccountMigration = {
  version: 15,
  statements: () => [],
  indexes: [
    { name: 'verifications_by_id', table: 'verifications', on: '(id)' },
    { name: 'organisation_activities_by_id', table: 'organisation_activities', on: '(id)' },
    {
      name: 'invitations_by_end',
      table: 'invitations',
      on: `(expires_at) where not (state = 'approved' and consent = 2)`,
    },
    {
      name: 'guest_codes_by_end',
      table: 'guest_codes',
      on: '(coalesce(revoked_at, expires_at))',
    },
    {
      name: 'trust_events_by_time',
      table: 'trust_events',
      on: `(at) where event in ('verified', 'note_changed')`,
    },
    { name: 'access_tokens_by_expiry', table: 'access_tokens', on: '(expires_at)' },
    {
      name: 'sessions_unproven',
      table: 'sessions',
      on: '(created_at) where proven = 0',
    },
    {
      name: 'machine_tokens_by_end',
      table: 'machine_tokens',
      on: '(coalesce(revoked_at, expires_at))',
    },
  ],
}

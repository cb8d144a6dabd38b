/** The versions of `state.db`. */
import { type Migrations, supportedBy } from '../storage/migrations.ts'
import { stateVersion14 } from './migrations/014-initial.ts'
import { stateVersion15 } from './migrations/015-events.ts'
import { stateVersion16 } from './migrations/016-webhooks.ts'
import { stateVersion17 } from './migrations/017-listed.ts'
import { stateVersion18 } from './migrations/018-unreported-webhooks.ts'
import { stateVersion19 } from './migrations/019-copies.ts'

/** To change the schema, add a file to `migrations/` and a line here. */
export const STATE_MIGRATIONS: Migrations<string> = [
  stateVersion14,
  stateVersion15,
  stateVersion16,
  stateVersion17,
  stateVersion18,
  stateVersion19,
]

export const STATE_VERSIONS = supportedBy(STATE_MIGRATIONS)

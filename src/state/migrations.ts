/** The versions of `state.db`. */
import { type Migrations, supportedBy } from '../storage/migrations.ts'
import { stateVersion14 } from './migrations/014-initial.ts'

/** A change of the schema is a new file in `migrations/` and its line here. */
export const STATE_MIGRATIONS: Migrations<string> = [stateVersion14]

export const STATE_VERSIONS = supportedBy(STATE_MIGRATIONS)

/** Access checks for the organisation that is active for the caller. */
import type { Kysely } from 'kysely'
import type { CallerSession } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import { type ActiveOrganisation, activeOrganisation } from '../accounts/active-organisation.ts'
import type { Schema } from '../db/schema.ts'

/**
 * Returns the active organisation of the caller. Any active member may read.
 * @throws AppError `no_active_organisation`
 */
export async function requireActing(
  db: Kysely<Schema>,
  session: CallerSession,
): Promise<ActiveOrganisation> {
  const active = await activeOrganisation(db, session)
  if (active !== null) return active
  throw new AppError(
    'no_active_organisation',
    'No organisation is active. Choose one first: countersignd org use NAME. An organisation that suspended you cannot be chosen.',
  )
}

/**
 * Returns the active organisation of a caller who may change it: an owner or admin.
 * @throws AppError `no_active_organisation`, `forbidden`
 */
export async function requireManaging(
  db: Kysely<Schema>,
  session: CallerSession,
): Promise<ActiveOrganisation> {
  const active = await requireActing(db, session)
  if (active.role !== 'member') return active
  throw new AppError(
    'forbidden',
    'Only an owner or admin of the organisation may do this: ask one of them.',
  )
}

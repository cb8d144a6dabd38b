/** Reads the caller's account, and reads and changes its active organisation. */
import type { Kysely } from 'kysely'
import type { Service, CallerSession } from '../../api/port.ts'
import type { Context } from '../../api/rest/context.ts'
import { AppError } from '../../errors.ts'
import {
  activeOrganisation,
  organisationOfMachine,
  organisationsOf,
} from './active-organisation.ts'
import { accountGone, justDeleted, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { plainName } from '../mail/quoting.ts'
import type { Schema } from '../db/schema.ts'

/**
 * Returns the display name of an account.
 * @throws AppError `conflict` if the account was deleted meanwhile
 */
export async function displayName(db: Kysely<Schema>, account: string): Promise<string> {
  const { display_name: name } = await db
    .selectFrom('accounts')
    .select('display_name')
    .where('id', '=', account)
    .executeTakeFirstOrThrow(() => justDeleted())
  return name
}

/**
 * Returns an account's display name in a form that is safe inside a text.
 * @throws AppError `conflict` if the account was deleted meanwhile
 */
export const quotedName = async (db: Kysely<Schema>, account: string): Promise<string> =>
  plainName(await displayName(db, account))

/**
 * Returns an account's primary mail address; null for a machine account, and for a person without a
 * confirmed mailbox.
 */
export async function primaryAddress(db: Kysely<Schema>, account: string): Promise<string | null> {
  const row = await db
    .selectFrom('emails')
    .select('address')
    .where('account_id', '=', account)
    .where('is_primary', '=', 1)
    .executeTakeFirst()
  return row?.address ?? null
}

/** Returns whether an account accepts mails that others cause, which is the default. */
export async function acceptsMail(db: Kysely<Schema>, account: string): Promise<boolean> {
  const preferences = await db
    .selectFrom('preferences')
    .select('email_notifications')
    .where('account_id', '=', account)
    .executeTakeFirst()
  return preferences?.email_notifications !== 0
}

/**
 * Returns the account that confirmed a mailbox, or null.
 * @param email the mailbox, in lower case
 */
export async function accountAt(db: Kysely<Schema>, email: string): Promise<string | null> {
  const row = await db
    .selectFrom('emails')
    .select('account_id')
    .where('address', '=', email)
    .executeTakeFirst()
  return row?.account_id ?? null
}

async function contextOf(db: Kysely<Schema>, session: CallerSession): Promise<Context> {
  const { account } = session
  const [user, email, organisations, active] = await Promise.all([
    db
      .selectFrom('accounts')
      .select(['id', 'display_name', 'kind'])
      .where('id', '=', account)
      .executeTakeFirstOrThrow(accountGone),
    primaryAddress(db, account),
    organisationsOf(db, account).orderBy('organisations.id').execute(),
    activeOrganisation(db, session),
  ])
  return {
    user: { ...user, email },
    organisations: organisations.map((one) => ({ ...one })),
    ...(active === null ? {} : { active_organisation: { ...active } }),
  }
}

/** Throws AppError `not_found` unless the account is an active member of the organisation. */
async function requireActive(
  db: Kysely<Schema>,
  account: string,
  organisation: string,
): Promise<void> {
  const row = await organisationsOf(db, account)
    .where('organisations.id', '=', organisation)
    .executeTakeFirst()
  if (row === undefined) throw notFound('organisation')
}

/**
 * Rejects every choice of a machine account except its own organisation.
 * @throws AppError `not_found` for another organisation, `invalid_state` for none
 */
function requireOwn(own: string, organisation: string | null): void {
  if (organisation === null)
    throw new AppError(
      'invalid_state',
      'A machine account belongs to one organisation, which is always active for it.',
      { details: { state: 'machine' } },
    )
  if (organisation !== own) throw notFound('organisation')
}

/**
 * Sets the active organisation of a session; null for none.
 * @throws AppError `not_signed_in` if the session has ended. The error is not `invalid_token`,
 *   because the caller's token for its daemon is still valid.
 */
async function choose(
  { db, now }: Pick<ServiceContext, 'db' | 'now'>,
  { account, session }: CallerSession,
  organisation: string | null,
): Promise<void> {
  const at = now()
  const { numUpdatedRows: chosen } = await db
    .updateTable('sessions')
    .set((of) => ({
      active_organisation_id: organisation,
      active_since:
        organisation === null
          ? null
          : of
              .case()
              // If the same organisation is chosen again, it stays current since the earlier time.
              .when('active_organisation_id', '=', organisation)
              .then(of.ref('active_since'))
              .else(of.val(at))
              .end(),
    }))
    .where('id', '=', session)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (chosen !== 1n)
    throw new AppError(
      'not_signed_in',
      'The session of this device has ended. Sign in again on this device.',
    )
}

export const context = ({ db, now }: ServiceContext): Service['context'] => ({
  activeOrg: async ({ body }, session) => {
    const { account } = session
    const { organisation_id: organisation } = body
    const own = await organisationOfMachine(db, account)
    if (own !== null) requireOwn(own, organisation)
    if (organisation !== null) await requireActive(db, account, organisation)
    if (own === null) await choose({ db, now }, session, organisation)
    return contextOf(db, session)
  },

  read: async (_, session) => contextOf(db, session),
})

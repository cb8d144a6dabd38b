/**
 * Lists and ends an account's sessions. A session that has never proven the device's key is not
 * listed, because it is not known who opened it. The embedded daemon in the server's process needs
 * no proof. Its session is listed only to itself, and ends with its device.
 */
import { pageOf } from '../../api/cursor.ts'
import { type Page, timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import { organisationOfMachine, organisationsOf } from '../accounts/active-organisation.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/collections.ts'
import { markSessionEnded, transactionWithMarks } from '../db/sync-marks.ts'

const PREFIX = 'ses_'

type Listed = Awaited<ReturnType<Service['sessions']['list']>>

/**
 * Returns a page of an account's sessions.
 * @param of `current`: the caller's session, or null; `within`: whether to list the embedded
 *   daemon's session to other callers
 */
export async function sessionPage(
  { db, now }: Pick<ServiceContext, 'db' | 'now'>,
  page: Page,
  of: { account: string; current: string | null; within: boolean },
): Promise<Listed> {
  const { account, current: session, within } = of
  const at = now()
  const own = await organisationOfMachine(db, account)
  const active = new Set((await organisationsOf(db, account).execute()).map(({ id }) => id))
  const rows = await pageRows(
    db
      .selectFrom('sessions')
      .innerJoin('devices', 'devices.id', 'device_id')
      .select(['sessions.id', 'device_id', 'sessions.created_at', 'last_seen_at'])
      .select('active_organisation_id')
      .where('sessions.account_id', '=', account)
      .where('revoked_at', 'is', null)
      .where((is) =>
        is.or([is('proven', 'in', within ? [1, 2] : [1]), is('sessions.id', '=', session)]),
      ),
    page,
    PREFIX,
    'sessions.id',
  )
  const items = rows.map((row) => {
    const current = row.id === session
    const chosen = own ?? row.active_organisation_id
    return {
      id: row.id,
      device_id: row.device_id,
      current,
      last_seen_at: timeAt(current ? at : row.last_seen_at),
      active_organisation_id: chosen !== null && active.has(chosen) ? chosen : null,
      created_at: timeAt(row.created_at),
    }
  })
  return pageOf(items, page)
}

export const sessions = (ground: ServiceContext): Service['sessions'] => ({
  list: (page, { account, session: current }) =>
    sessionPage(ground, page, { account, current, within: false }),

  delete: async ({ id }, { account, session }) => {
    requireId(PREFIX, id, 'session')
    if (id === session)
      throw new AppError(
        'invalid_state',
        'A session cannot delete itself. To sign out a device, run "countersignd logout" on it. The embedded account needs no sign-in.',
        { details: { state: 'current' } },
      )
    // This also deletes the session's access tokens and invalidates its refresh token.
    await transactionWithMarks(ground.db, async (trx) => {
      const ended = await trx
        .deleteFrom('sessions')
        .where('id', '=', id)
        .where('account_id', '=', account)
        .where('proven', '=', 1)
        .returning(['device_id', 'last_seen_at'])
        .executeTakeFirst()
      if (ended === undefined) throw notFound('session')
      // The time of the last use is stored in the device's row, because users need it to decide
      // which device to revoke.
      await trx
        .updateTable('devices')
        .set({ seen_before_at: ended.last_seen_at })
        .where('id', '=', ended.device_id)
        .execute()
      markSessionEnded(trx, account)
    })
  },
})

/** Preferences: the chosen values, and defaults for the others. */
import type { Kysely } from 'kysely'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { Preferences } from '../../api/rest/preferences.ts'
import { AppError } from '../../errors.ts'
import { requireApproved } from './device-rows.ts'
import type { ServiceContext } from '../context.ts'
import { endCode, nextTurn } from './public-code-rows.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

type Row = Schema['preferences']
type Changes = Parameters<Service['preferences']['update']>[0]['body']

const DEFAULT = {
  locale: null,
  time_zone: null,
  public_code: 0,
  email_notifications: 1,
  findable_by_email: 1,
} as const satisfies Omit<Row, 'account_id'>

async function rowOf(db: Kysely<Schema>, account: string): Promise<Row> {
  const row = await db
    .selectFrom('preferences')
    .selectAll()
    .where('account_id', '=', account)
    .executeTakeFirst()
  return row ?? { ...DEFAULT, account_id: account }
}

const resource = (row: Row): Preferences => ({
  locale: row.locale ?? 'en',
  time_zone: row.time_zone ?? 'UTC',
  public_code: row.public_code === 1,
  email_notifications: row.email_notifications === 1,
  findable_by_email: row.findable_by_email === 1,
})

/** Throws AppError `validation_failed` for an unknown language tag or time zone. */
function requireKnown({ locale, time_zone: timeZone }: Changes): void {
  const known = (make: () => unknown, path: string, message: string) => {
    try {
      make()
    } catch (cause) {
      throw invalid('body', [{ path, message }], cause)
    }
  }
  if (locale != null)
    known(() => Intl.getCanonicalLocales(locale), 'locale', 'This language tag does not exist.')
  if (timeZone != null)
    known(
      () => new Intl.DateTimeFormat('en', { timeZone }),
      'time_zone',
      'This time zone does not exist.',
    )
}

const bit = (value: boolean | undefined) => (value === undefined ? undefined : value ? 1 : 0)

/** Returns the changes as columns, without the fields that the body omits. */
function changes(body: Changes): Partial<Row> {
  const all = {
    locale: body.locale,
    time_zone: body.time_zone,
    public_code: bit(body.public_code),
    email_notifications: bit(body.email_notifications),
    findable_by_email: bit(body.findable_by_email),
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

export const preferences = ({ db }: ServiceContext): Service['preferences'] => ({
  read: async (_, { account }) => resource(await rowOf(db, account)),

  update: async ({ body }, session) => {
    requireKnown(body)
    const { account } = session
    return transactionWithMarks(db, async (trx) => {
      // A public code needs a device, because only a device can create its secret.
      if (body.public_code === true) await requireApproved(trx, session)
      const set = changes(body)
      if (body.public_code !== undefined) {
        const turn = await nextTurn(trx)
        if (body.public_code) await requireShared(trx, account, turn)
        else await endCode(trx, account, turn)
        markChanged(trx, ['public_code'], { accounts: [account] })
      }
      if (Object.keys(set).length > 0)
        await trx
          .insertInto('preferences')
          .values({ ...DEFAULT, ...set, account_id: account })
          .onConflict((conflict) => conflict.column('account_id').doUpdateSet(set))
          .execute()
      return resource(await rowOf(trx, account))
    })
  },
})

/**
 * Checks that a device has shared the public code's secret, and stores the change's turn number.
 * @throws AppError `invalid_state`
 */
async function requireShared(db: Kysely<Schema>, account: string, turn: number): Promise<void> {
  const { numUpdatedRows: shared } = await db
    .updateTable('public_codes')
    .set({ turn })
    .where('account_id', '=', account)
    .where('k', 'is not', null)
    .executeTakeFirst()
  if (shared !== 1n)
    throw new AppError(
      'invalid_state',
      'The account server does not have the secret of the public code. Use one of your devices to switch the public code on.',
      { details: { state: 'not_shared' } },
    )
}

/** The devices of an account, pending ones included. */
import type { Kysely } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { LoggedKeys } from '../../crypto/device-public-keys.ts'
import { thumbprint } from '../../crypto/jose/jwk.ts'
import type { LoggedDevice } from '../../crypto/logs/key-log.ts'
import { AppError } from '../../errors.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { entriesOf } from '../accounts/key-log-rows.ts'
import { pageRows } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

const PREFIX = 'dev_'

const shownOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('devices')
    .select(['id', 'name', 'platform', 'keys', 'created_at', 'approved_at', 'seen_before_at'])
    .select((of) =>
      of
        .selectFrom('sessions')
        .select(({ fn }) => fn.max('last_seen_at').as('last'))
        .whereRef('device_id', '=', 'devices.id')
        .as('last_seen_at'),
    )
    .where('account_id', '=', account)
    .where('revoked_at', 'is', null)

/** Returns the later of two times in the format of the API. */
const newestOf = (a: number | null, b: number | null): string | null =>
  a === null && b === null ? null : timeAt(Math.max(a ?? 0, b ?? 0))

/** Returns the devices that the key log of an account names, with their public keys. */
async function loggedKeys(db: Kysely<Schema>, account: string) {
  const { entries } = await entriesOf(db, account)
  return entries.length === 0 ? null : (await storedKeyLog(account, entries)).devices
}

/** Returns the ids of a device's signing and sealing keys. */
const idsOf = ({ sign, seal }: Pick<LoggedKeys, 'sign' | 'seal'>) => [thumbprint(sign), seal]
const idsIn = (device: LoggedDevice | undefined) =>
  device === undefined ? [] : idsOf({ sign: device.keys.sign, seal: device.seal })

export const devices = ({ db }: ServiceContext): Service['devices'] => ({
  list: async (page, { account, device }) => {
    const rows = await pageRows(shownOf(db, account), page, PREFIX)
    const logged = await loggedKeys(db, account)
    const items = rows.map(({ id, name, platform, keys, ...row }) => {
      const known = keys === null ? idsIn(logged?.get(id)) : idsOf(JSON.parse(keys) as LoggedKeys)
      return {
        id,
        name,
        platform,
        state: row.approved_at === null ? ('pending' as const) : ('active' as const),
        current: id === device,
        last_seen_at: newestOf(row.last_seen_at, row.seen_before_at),
        key_ids: known,
        created_at: timeAt(row.created_at),
      }
    })
    return pageOf(items, page)
  },

  delete: async ({ id }, { account }) => {
    requireId(PREFIX, id, 'device')
    const { numDeletedRows: turnedAway } = await db
      .deleteFrom('devices')
      .where('id', '=', id)
      .where('account_id', '=', account)
      .where('keys', 'is not', null)
      .executeTakeFirst()
    if (turnedAway === 1n) return
    const known = await shownOf(db, account).where('id', '=', id).executeTakeFirst()
    if (known === undefined) throw notFound('device')
    throw new AppError(
      'no_device',
      'Only a device of the account can revoke this one, by its signature: ask the daemon of one.',
    )
  },
})

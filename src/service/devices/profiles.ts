/**
 * What an account shows to others: its name and the public keys of its active devices. The name
 * proves nothing; the keys are read from the key log that proves them.
 */
import { pageOf, readCursor, rowsFor } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { PublicKey } from '../../api/rest/profiles.ts'
import { thumbprint } from '../../crypto/jose/jwk.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { readKeyLog, sealKeysOf } from '../accounts/key-log-rows.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

export const profiles = ({ db }: ServiceContext): Service['profiles'] => ({
  read: async ({ id }) => {
    requireId('acc_', id, 'account')
    const row = await db
      .selectFrom('accounts')
      .select(['id', 'display_name', 'handle', 'kind'])
      .where('id', '=', id)
      .executeTakeFirst()
    if (row === undefined) throw notFound('account')
    return { ...row }
  },

  keys: async ({ id: account, ...page }) => {
    const { entries, storedAt } = await readKeyLog(db, account)
    const names = await db
      .selectFrom('devices')
      .select(['id', 'name'])
      .where('account_id', '=', account)
      .execute()
    const nameOf = new Map(names.map(({ id, name }) => [id, name]))
    const sealKeys = new Map((await sealKeysOf(db, account)).map((one) => [one.id, one.seal_key]))
    const { devices } = await storedKeyLog(account, entries)
    const keys = [...devices.values()].reverse().flatMap((device) => {
      const { id, seal, renewals, addedAt } = device
      const active = device.revokedAt === null
      const [device_name, sealKey] = [nameOf.get(id) ?? '', sealKeys.get(id)]
      const at = (seq: number) => timeAt(storedAt[seq]!)
      const { sign: jwk } = device.keys
      const sign = { id: thumbprint(jwk), use: 'sign', jwk, device_name, created_at: at(addedAt) }
      const of = { id: seal, use: 'seal', suite: 1, key: sealKey ?? '', device_name } as const
      return [
        { key: sign as PublicKey, active },
        {
          key: { ...of, created_at: at(renewals.at(-1)?.seq ?? addedAt) },
          active: active && sealKey !== undefined,
        },
      ]
    })
    // Revoked keys keep their place, so that a revocation between two pages does not break the
    // cursor.
    const at = (id: string | null) => keys.findIndex(({ key }) => key.id === id)
    const last = readCursor(page.cursor, (id) => at(id) >= 0)
    const rest = keys.slice(at(last) + 1).filter(({ active }) => active)
    return pageOf(
      rest.slice(0, rowsFor(page)).map(({ key }) => key),
      page,
    )
  },
})

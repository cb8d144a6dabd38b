/**
 * What accounts see of each other: a name, which proves nothing, and the public keys of the active devices, read from the key
 * log that proves them.
 */
import { pageOf, readCursor, rowsFor } from '../api/cursor.ts'
import { timeAt } from '../api/fields.ts'
import type { Service } from '../api/port.ts'
import type { PublicKey } from '../api/rest/profiles.ts'
import { thumbprint } from '../crypto/jwk.ts'
import { verifyKeyLog } from '../crypto/key-log-v1.ts'
import { demandId, notFound } from './faults.ts'
import type { Ground } from './ground.ts'
import { readKeyLog } from './key-logs.ts'

export const profiles = ({ db }: Ground): Service['profiles'] => ({
  read: async ({ id }) => {
    demandId('acc_', id, 'account')
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
    const keys = [...verifyKeyLog(account, entries).devices.values()].reverse().flatMap((device) =>
      (['sign', 'seal'] as const).map((use) => {
        const key: PublicKey = {
          id: thumbprint(device.keys[use]),
          use,
          jwk: device.keys[use],
          device_name: nameOf.get(device.id) ?? '',
          created_at: timeAt(storedAt[device.addedAt]!),
        }
        return { key, active: device.revokedAt === null }
      }),
    )
    // Revoked keys keep their place, so that a revocation between two pages does not break the cursor.
    const at = (id: string | null) => keys.findIndex(({ key }) => key.id === id)
    const last = readCursor(page.cursor, (id) => at(id) >= 0)
    const rest = keys.slice(at(last) + 1).filter(({ active }) => active)
    return pageOf(
      rest.slice(0, rowsFor(page)).map(({ key }) => key),
      page,
    )
  },
})

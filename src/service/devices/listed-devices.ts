/**
 * Lists an account's devices without their keys, from their rows alone. Every sync that finds a
 * change in the list reads it, so this module must not import what verifies key logs.
 */
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { ID_PREFIX } from '../../crypto/encoding/id.ts'
import { deviceState } from '../accounts/device-rows.ts'
import type { ServiceContext } from '../context.ts'
import { ofPage, onPage, type PageValues } from '../db/collections.ts'
import { compiledOnce } from '../db/compiled.ts'

const rowsOf = compiledOnce((db, values: PageValues & { readonly account: string }) =>
  onPage(
    db
      .selectFrom('devices')
      .select(['id', 'name', 'platform', 'created_at', 'approved_at'])
      .where('account_id', '=', values.account)
      .where('revoked_at', 'is', null),
    values,
  ),
)

export const listedDevices = ({ db }: ServiceContext): Service['listedDevices'] => ({
  list: async (page, { account }) => {
    const rows = await rowsOf(db, { ...ofPage(page, ID_PREFIX.device), account })
    const items = rows.map(({ id, name, platform, created_at, approved_at }) => ({
      id,
      name,
      platform,
      state: deviceState(approved_at),
      created_at: timeAt(created_at),
    }))
    return pageOf(items, page)
  },
})

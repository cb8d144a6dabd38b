import * as v from 'valibot'
import { listOf, Page } from '../fields.ts'
import { Device } from '../rest/account.ts'
import type { Routes } from '../route.ts'

const { id, name, platform, state, created_at } = Device.entries
const ListedDevice = v.object({ id, name, platform, state, created_at })
export type ListedDevice = v.InferOutput<typeof ListedDevice>

/**
 * The devices of an account without their keys.
 *
 * A sync reads these, and not `GET /api/v1/devices`: to return the keys, the account server must
 * verify the key log.
 */
export const listedDevices = {
  list: {
    method: 'GET',
    path: '/device/v1/devices',
    by: 'account',
    query: Page,
    reply: listOf(ListedDevice),
  },
} as const satisfies Routes

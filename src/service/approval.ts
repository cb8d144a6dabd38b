/**
 * Approval of further devices (protocol, section 3). The people and their devices compare the words; the server only hands the
 * newcomer's keys over, and keeps the newcomer to reading until it says that it compared the key log too.
 */
import { timeAt } from '../api/fields.ts'
import type { Service } from '../api/port.ts'
import { encodeBase64url } from '../crypto/base64url.ts'
import type { DeviceJwks } from '../crypto/device-keys-v1.ts'
import { verifyKeyLog } from '../crypto/key-log-v1.ts'
import { AppError } from '../errors.ts'
import { approvedAt, waitingDevices } from './device-rows.ts'
import { deviceOf } from './faults.ts'
import type { Ground } from './ground.ts'
import { readKeyLog } from './key-logs.ts'

export const pendingDevices = ({ db, now }: Ground): Service['pendingDevices'] => ({
  list: async (_, { account }) => {
    const rows = await waitingDevices(db, account, now()).orderBy('id').execute()
    return {
      items: rows.map(({ keys, created_at, ...rest }) => ({
        ...rest,
        keys: JSON.parse(keys) as DeviceJwks,
        created_at: timeAt(created_at),
      })),
    }
  },
})

export const approval = ({ db, now }: Ground): Service['approval'] => ({
  create: async ({ body }, session) => {
    const device = deviceOf(session)
    // A device that did not hear the answer says it again, perhaps after the log has grown.
    if ((await approvedAt(db, device)) !== null) return
    const { account } = session
    const { entries } = await readKeyLog(db, account)
    const log = verifyKeyLog(account, entries)
    if (!log.active.some(({ id }) => id === device))
      throw new AppError(
        'invalid_state',
        'No device has added this one to the key log yet: type its six words on a device that is signed in.',
        { details: { state: 'pending' } },
      )
    if (encodeBase64url(log.head) !== body.head)
      throw new AppError(
        'conflict',
        'This is not the newest entry of the key log: compare the words of the newest.',
      )
    await db
      .updateTable('devices')
      .set({ approved_at: now() })
      .where('id', '=', device)
      .where('keys', 'is', null)
      .where('revoked_at', 'is', null)
      .execute()
  },
})

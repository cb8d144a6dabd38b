/** The letters about devices and recovery keys, to the primary address of the account. */
import { primaryAddress } from '../accounts/account-record.ts'
import type { Subscriber } from '../events.ts'
import { deviceAddedMessage, recoveryKeyMessage, resetMessage } from '../mail/messages.ts'

interface Needs {
  readonly publicUrl: () => string
}

export const letterOfDevice =
  ({ publicUrl }: Needs): Subscriber<'device.added'> =>
  async ({ trx, send }, { account, name: deviceName }) => {
    const to = await primaryAddress(trx, account)
    if (to !== null) send(deviceAddedMessage({ to, deviceName, publicUrl: publicUrl() }))
  }

export const letterOfRecoveryKey =
  ({ publicUrl }: Needs): Subscriber<'recovery_key.changed'> =>
  async ({ trx, send }, { account, name: deviceName }) => {
    const to = await primaryAddress(trx, account)
    if (to !== null) send(recoveryKeyMessage({ to, deviceName, publicUrl: publicUrl() }))
  }

export const letterOfReset =
  ({ publicUrl }: Needs): Subscriber<'account.reset'> =>
  async ({ trx, send }, { account, deviceName, withKey }) => {
    const to = await primaryAddress(trx, account)
    if (to !== null) send(resetMessage({ to, deviceName, withKey, publicUrl: publicUrl() }))
  }

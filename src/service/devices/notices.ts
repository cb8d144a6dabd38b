/**
 * The notifications and letters about devices and recovery keys, and the accounts that receive
 * them. A notification reveals only what the lists of its account show.
 */
import { primaryAddress, quotedName } from '../accounts/account-record.ts'
import type { Subscriber } from '../events.ts'
import { deviceAddedMessage, recoveryKeyMessage, resetMessage } from '../mail/messages.ts'
import { type Note, notify, notifyAll } from '../mail/notices.ts'
import { plainName } from '../mail/quoting.ts'

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

/**
 * Notifies an account after a reset replaced all its devices, and all accounts that rely on its
 * keys.
 */
export const noticesOfReset: Subscriber<'account.reset'> = async ({ trx }, event) => {
  const { account, device, deviceName, withKey, at } = event
  const followers = await trx
    .selectFrom('trust_cards')
    .select('account_id')
    .where('watched_id', '=', account)
    .execute()
  const members = await trx
    .selectFrom('memberships')
    .innerJoin('memberships as own', 'own.connection_id', 'memberships.connection_id')
    .select('memberships.account_id')
    .distinct()
    .where('own.account_id', '=', account)
    .where('memberships.account_id', '!=', account)
    .execute()
  const name = await quotedName(trx, account)
  const changed: Note = {
    kind: 'keys_changed',
    title: `The keys of ${name} changed`,
    body: withKey
      ? `All devices of ${name} were replaced by a new one, with the words of a recovery key. Your device checks whether that key belongs to the keys that you know, and the trust card shows the result: if it does, there is nothing to do.`
      : `All devices of ${name} were replaced by a new one. Ask them by a way that you know whether it was they, and compare the safety number before you rely on the new keys.`,
    data: { user_id: account },
  }
  const reset: Note = {
    kind: 'account_reset',
    title: 'All devices of your account were replaced',
    body: `All devices of your account were replaced by ${plainName(deviceName)}, ${withKey ? 'with' : 'without'} a recovery key. If that was not you, a thief may read your mail: make your mailbox safe, then reset the account yourself.`,
    data: { device_id: device },
  }
  const notes = [...followers, ...members].map(({ account_id }): [string, Note] => [
    account_id,
    changed,
  ])
  await notifyAll(trx, new Map([...notes, [account, reset]]), at)
}

export const noticeOfDevice: Subscriber<'device.added'> = (
  { trx },
  { account, device, name, at },
) => {
  const note: Note = {
    kind: 'device_added',
    title: `A new device: ${plainName(name)}`,
    body: `${plainName(name)} was added to your account; another device of yours approved it. If that was not you, revoke it at once.`,
    data: { device_id: device },
  }
  return notify(trx, account, note, at)
}

export const noticeOfRevocation: Subscriber<'device.revoked'> = (
  { trx },
  { account, device, name, at },
) => {
  const note: Note = {
    kind: 'device_revoked',
    title: `A device was revoked: ${plainName(name)}`,
    body: `${plainName(name)} was revoked, or signed out: it is no device of your account any more.`,
    data: { device_id: device },
  }
  return notify(trx, account, note, at)
}

/** Notifies the account that a device set a new recovery key. */
export const noticeOfRecoveryKey: Subscriber<'recovery_key.changed'> = (
  { trx },
  { account, device, name, at },
) => {
  const note: Note = {
    kind: 'recovery_key_changed',
    title: `A new recovery key, by ${plainName(name)}`,
    body: `${plainName(name)} made a recovery key for your account: a person with its words and your mailbox can replace all your devices, and your contacts accept that. If that was not you, reset the account without it, since revoking the device leaves the key in force. Then compare the safety number with each contact: until they confirm your new keys, they accept a reset with those words.`,
    data: { device_id: device },
  }
  return notify(trx, account, note, at)
}

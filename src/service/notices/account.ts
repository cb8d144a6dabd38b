/**
 * The notifications and letters about an account itself: its addresses, devices, keys, guest codes,
 * open links and exports. A notification reveals only what the account's own lists show.
 */
import { acceptsMail, primaryAddress, quotedName } from '../accounts/account-record.ts'
import { deviceName } from '../accounts/device-rows.ts'
import { type Allowance, takePlace } from '../accounts/mail-allowance.ts'
import { readerOf } from '../accounts/readers.ts'
import type { Subscriber } from '../events.ts'
import {
  deviceAddedMessage,
  emailAddedMessage,
  recoveryKeyMessage,
  resetMessage,
  webhookMessage,
} from '../mail/messages.ts'
import { forgetNotes, type Note, notify, notifyAll } from '../mail/notices.ts'
import { minuteText, plainName } from '../mail/quoting.ts'

/** Notifies the account that an address was confirmed. */
export const noticeOfEmail: Subscriber<'email.added'> = (
  { trx },
  { account, email, address, at },
) =>
  notify(
    trx,
    account,
    {
      kind: 'email_added',
      title: 'An address was added to your account',
      body: `${address} was confirmed. Codes mailed to this address now sign in to your account.`,
      data: { email_id: email },
    },
    at,
  )

/** Sends a letter to the previous primary address, if there was one. */
export const letterOfEmail =
  ({ publicUrl }: { publicUrl: () => string }): Subscriber<'email.added'> =>
  async ({ trx, send }, { account, address, primary: to }) => {
    if (to === null) return
    const reader = await readerOf(trx, account)
    send(emailAddedMessage({ to, reader, address, publicUrl: publicUrl() }))
  }

interface Links {
  readonly publicUrl: () => string
}

export const letterOfDevice =
  ({ publicUrl }: Links): Subscriber<'device.added'> =>
  async ({ trx, send }, { account, name: deviceName }) => {
    const to = await primaryAddress(trx, account)
    if (to === null) return
    const reader = await readerOf(trx, account)
    send(deviceAddedMessage({ to, reader, deviceName, publicUrl: publicUrl() }))
  }

export const letterOfRecoveryKey =
  ({ publicUrl }: Links): Subscriber<'recovery_key.changed'> =>
  async ({ trx, send }, { account, name: deviceName }) => {
    const to = await primaryAddress(trx, account)
    if (to === null) return
    const reader = await readerOf(trx, account)
    send(recoveryKeyMessage({ to, reader, deviceName, publicUrl: publicUrl() }))
  }

export const letterOfReset =
  ({ publicUrl }: Links): Subscriber<'account.reset'> =>
  async ({ trx, send }, { account, deviceName, withKey }) => {
    const to = await primaryAddress(trx, account)
    if (to === null) return
    const reader = await readerOf(trx, account)
    send(resetMessage({ to, reader, deviceName, withKey, publicUrl: publicUrl() }))
  }

/**
 * Notifies an account that a reset replaced all its devices, and all accounts that rely on its
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
      ? `All devices of ${name} were replaced by a new one, with the words of a recovery key. Your device checks whether this recovery key belongs to the keys that you have reviewed, and the trust card shows the result. If it belongs to them, there is nothing to do.`
      : `All devices of ${name} were replaced by a new one. Ask them, in a way that you trust, whether they did this, and compare the safety number before you rely on the new keys.`,
    data: { user_id: account },
  }
  const reset: Note = {
    kind: 'account_reset',
    title: 'All devices of your account were replaced',
    body: `All devices of your account were replaced by ${plainName(deviceName)}, ${withKey ? 'with' : 'without'} a recovery key. If you did not do this, another person may have access to your mail. Secure your mailbox, then reset the account yourself.`,
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
    body: `${plainName(name)} was added to your account. Another of your devices approved it. If you did not approve it, revoke the new device immediately.`,
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
    body: `${plainName(name)} was revoked, or signed out. It is no longer a device of your account.`,
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
    body: `${plainName(name)} made a recovery key for your account. A person who has its words and can read your mailbox can replace all your devices. Your contacts then do not have to confirm the new keys. If that was not you, reset the account without the recovery key: if you only revoke the device, the recovery key stays in force. Then compare the safety number with each contact. Until a contact confirms your new keys, the device of that contact accepts a reset with those words.`,
    data: { device_id: device },
  }
  return notify(trx, account, note, at)
}

/** Notifies the owner of a guest code that its page was opened for the first time. */
export const noticeOfOpening: Subscriber<'guest_code.opened'> = (
  { trx },
  { account, code, label, at },
) =>
  notify(
    trx,
    account,
    {
      kind: 'guest_code_opened',
      title: 'The page of a guest code was opened',
      body: `The page of the guest code ${plainName(label)} was opened for the first time. If your guest cannot have opened it, revoke the code.`,
      data: { guest_code_id: code },
    },
    at,
  )

/** Notifies the owners of guest codes that the codes are about to end. */
export const noticesOfEnding: Subscriber<'guest_code.ending'> = ({ trx }, { codes, at }) =>
  notifyAll(
    trx,
    codes.map(({ account, code, label, expires }): [string, Note] => [
      account,
      {
        kind: 'guest_code_ending',
        title: 'A guest code is about to end',
        body: `The guest code ${plainName(label)} ends on ${minuteText(expires)}. After that, its page shows no words. If your guest still needs words, create a new guest code.`,
        data: { guest_code_id: code },
      },
    ]),
    at,
  )

/** Deletes the notification that a guest code is about to end, because it was revoked. */
export const endNoticeOfEnding: Subscriber<'guest_code.revoked'> = ({ trx }, { account, code }) =>
  forgetNotes(trx, account, ['guest_code_ending'], { guest_code_id: code })

/** Notifies the owner of an open link of a request with a confirmed mailbox. */
export const noticeOfRequest: Subscriber<'open_link.requested'> = (
  { trx },
  { account, link, request, name, email, at },
) =>
  notify(
    trx,
    account,
    {
      kind: 'open_link_request',
      title: 'A person asks to connect',
      body: `${plainName(name)} at ${email} used an open link. The mailbox is confirmed. The name is not: anyone can use any name.`,
      data: { open_link_id: link, open_link_request_id: request },
    },
    at,
  )

/** Deletes the notification of a request that was answered. */
export const endNoticeOfRequest: Subscriber<'open_link.answered'> = (
  { trx },
  { account, request },
) => forgetNotes(trx, account, ['open_link_request'], { open_link_request_id: request })

/** Deletes the notifications of the requests of a deleted open link. */
export const endNoticesOfLink: Subscriber<'open_link.deleted'> = ({ trx }, { account, link }) =>
  forgetNotes(trx, account, ['open_link_request'], { open_link_id: link })

/** Notifies an account that its export is ready. */
export const noticeOfExport: Subscriber<'export.ready'> = ({ trx }, event) => {
  const { account, export: id, expires, at } = event
  const note = {
    kind: 'export_ready',
    title: 'Your export is ready',
    body: `It can be downloaded until ${new Date(expires).toISOString().slice(0, 10)}.`,
    data: { export_id: id },
  } as const
  return notify(trx, account, note, at)
}

export const noticeOfFailure: Subscriber<'export.failed'> = ({ trx }, event) => {
  const { account, export: id, reason, at } = event
  const note = {
    kind: 'export_failed',
    title: 'Your export could not be built',
    body: reason,
    data: { export_id: id },
  } as const
  return notify(trx, account, note, at)
}

/**
 * The limit for letters to one mailbox. The webhooks of a receiver that is down are given up at
 * about the same time.
 */
const WEBHOOK_LETTERS: Allowance = { what: 'webhook given up', most: 1, periodMs: 3_600_000 }

/** Mails the account that a webhook was given up, at most once an hour. */
export const letterOfWebhook =
  ({ publicUrl }: Links): Subscriber<'webhook.given_up'> =>
  async ({ trx, send }, { account, device, webhook, name, since, at }) => {
    const to = await primaryAddress(trx, account)
    if (to === null || !(await acceptsMail(trx, account))) return
    if (!(await takePlace(trx, WEBHOOK_LETTERS, to, at))) return
    const on = await deviceName(trx, device)
    const reader = await readerOf(trx, account)
    send(webhookMessage({ to, reader, name, webhook, on, since, publicUrl: publicUrl() }))
  }

/** Notifies the account that a device gave a webhook up. An earlier notification is replaced. */
export const noticeOfWebhook: Subscriber<'webhook.given_up'> = async ({ trx }, event) => {
  const { account, device, webhook, event: id, name, since, at } = event
  const about = { device_id: device, webhook_id: webhook }
  await forgetNotes(trx, account, ['webhook_given_up'], about)
  const on = plainName(await deviceName(trx, device))
  const note: Note = {
    kind: 'webhook_given_up',
    title: `A webhook was given up: ${plainName(name)}`,
    body: `${on} sends nothing more to the webhook ${plainName(name)}, because it has accepted no event since ${minuteText(since)}. When its receiver works again, run "countersignd webhook update ${webhook} --enable" on that device. It then continues with the first event that was not delivered.`,
    data: { ...about, event_id: id },
  }
  await notify(trx, account, note, at)
}

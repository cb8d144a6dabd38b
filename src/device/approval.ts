/**
 * Approval, as a device sees it that is signed in: a newcomer joins the key log when the six words of its screen are those of
 * the keys that the account server offers, and not before. What is signed are the keys that were compared.
 */
import { every } from '../api/cursor.ts'
import type { Account } from '../api/port.ts'
import { deviceWords, logWords } from '../crypto/approval.ts'
import { type DeviceJwks, sameKeys } from '../crypto/device-keys-v1.ts'
import { type KeyLog, addDevice } from '../crypto/key-log-v1.ts'
import { AppError } from '../errors.ts'
import type { Device } from './device.ts'
import { continueKeyLog, fetchKeyLog, judged, rememberKeyLog } from './key-log.ts'
import { demandWords } from './six-words.ts'

const OTHER_WORDS =
  'These are not the words of the device that the account server offers, and nothing was signed. Type the six words that the new device shows now. ' +
  'If they are, the account server offers a device that is not yours: it may be dishonest.'

/**
 * Throws AppError not_signed_in where the log revokes this device. The words of a log are shown on
 * the word of a device that belongs to it: after a reset, the server may have written all that
 * follows.
 */
function demandActive({ devices }: KeyLog, own: string): void {
  if (devices.get(own)?.revokedAt === null) return
  throw new AppError(
    'not_signed_in',
    'The key log that the account server shows has this device revoked, so it approves no other and shows no words. If nobody in the account revoked it, the server may be dishonest. ' +
      'Otherwise run "countersignd logout" here, and sign in anew.',
  )
}

/** Whether a log has the device, with these keys and not revoked; another device of its id is a lie. */
function isIn(log: KeyLog, { id, keys }: { id: string; keys: DeviceJwks }): boolean {
  const known = log.devices.get(id)
  if (known === undefined) return false
  if (known.revokedAt === null && sameKeys(known.keys, keys)) return true
  throw new AppError(
    'conflict',
    'The key log has this device already, revoked or with other keys. Sign in on it anew.',
  )
}

interface Offered {
  readonly id: string
  readonly name: string
  readonly keys: DeviceJwks
}

/**
 * The device as the server offers it; one that is in the log and has not confirmed yet as it stands there: its person may have
 * missed the words. Throws AppError not_found.
 */
async function offered(
  { state, identity }: Pick<Device, 'state' | 'identity'>,
  account: Account,
  id: string,
): Promise<Offered> {
  const { items } = await account.pendingDevices.list({})
  const found = items.find((item) => item.id === id)
  if (found !== undefined) return { id, name: found.name, keys: found.keys as DeviceJwks }
  const listed = await every((query) => account.devices.list(query))
  const waits = listed.find((item) => item.id === id && item.state === 'pending')
  const log = await fetchKeyLog(state, account, identity.account)
  const known = log.active.find((device) => device.id === id)
  if (waits !== undefined && known !== undefined) return { id, name: waits.name, keys: known.keys }
  throw new AppError('not_found', 'No device with this id waits for approval.')
}

/**
 * Approve a device that waits: compare its words, add it to the key log, and show the words of that log. Done again, it adds
 * nothing and shows the words anew.
 * @param words as read off the new device's screen
 * @returns the words to type there
 * @throws AppError not_found, word_count, unknown_word, validation_failed, conflict, backend_error, not_signed_in for a device that
 *   left or was revoked meanwhile, and what the account throws
 */
export async function approveDevice(
  of: Pick<Device, 'identity' | 'state' | 'codes' | 'now' | 'demandSeat'>,
  account: Account,
  id: string,
  words: string,
): Promise<{ device_name: string; words: string }> {
  const { identity, state, now } = of
  const device = await offered(of, account, id)
  const expected = judged(() =>
    deviceWords({ account: identity.account, device: id, keys: device.keys }),
  )
  demandWords(words, expected, OTHER_WORDS)
  const { sign } = await identity.keys()
  const signed = { by: identity.device, kid: identity.kid, seed: sign.secret }
  const log = await continueKeyLog(state, account, identity.account, (before) => {
    demandActive(before, identity.device)
    if (isIn(before, device)) return null
    const at = Math.floor(now() / 1000)
    return judged(() => addDevice({ log: before, device, ...signed, at }))
  })
  of.demandSeat()
  rememberKeyLog(of, log)
  return {
    device_name: device.name,
    words: logWords({ account: identity.account, head: log.head }).join(' '),
  }
}

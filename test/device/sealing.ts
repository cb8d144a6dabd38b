/** Reads the sealing keys of a device, locally and at the account server. */
import assert from 'node:assert/strict'
import type { Account } from '../../src/api/port.ts'
import { readEnvelope } from '../../src/crypto/envelope-form.ts'
import { type KeyLog, verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { renewSealKey } from '../../src/crypto/logs/key-log-entries.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import type { DeviceUser } from '../world/world.ts'

/** Returns the ids of the private halves in the keychain of a device, in order of creation. */
export function halvesOf({ keychain }: Pick<DeviceUser, 'keychain'>): string[] {
  const stored = keychain.get('device') ?? assert.fail('no keys')
  return Object.keys((JSON.parse(stored) as { seals: object }).seals)
}

/** Returns the key log of an account as the account server has it. */
export async function logAt(account: Account, id: string): Promise<KeyLog> {
  const { entries } = await account.keyLogs.read({ account: id })
  return verifyKeyLog(id, entries)
}

/** Returns the device in the key log that the account server has. */
export async function loggedOf(user: DeviceUser) {
  const log = await logAt(user.account(), user.id)
  return log.devices.get(user.deviceId) ?? assert.fail('not in the log')
}

/** Returns the sealing keys to which a device’s envelopes at the account server are sealed. */
export async function sealedFor(user: DeviceUser, connection: string): Promise<string[]> {
  const { envelopes } = await user.account().envelopes.read({ connection })
  return envelopes.map((one) => readEnvelope(one).recipient_kid)
}

/** Renews the sealing key of a device to this one, 1,216 bytes; its private half is not kept. */
export async function renewTo(user: DeviceUser, publicKey: Uint8Array): Promise<void> {
  const { identity } = user.device()
  const { sign } = await identity.keys()
  const log = await logAt(user.account(), user.id)
  const by = { by: identity.device, kid: identity.kid, seed: sign.secret, at: 1 }
  const entry = renewSealKey({ log, seal: sealKeyId(publicKey), ...by })
  await user.account().keyLogs.append({ body: { entry, seal_key: encodeBase64url(publicKey) } })
}

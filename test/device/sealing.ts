/** Reads the sealing keys of a device, locally and at the account server. */
import assert from 'node:assert/strict'
import type { Account } from '../../src/api/port.ts'
import { readEnvelope } from '../../src/crypto/envelope-form.ts'
import { type KeyLog, verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { renewSealKey } from '../../src/crypto/logs/key-log-entries.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import type { Desk } from '../world/world.ts'

/** Returns the ids of the private halves in the keychain of a device, in order of creation. */
export function halvesOf({ keychain }: Pick<Desk, 'keychain'>): string[] {
  const stored = keychain.get('device') ?? assert.fail('no keys')
  return Object.keys((JSON.parse(stored) as { seals: object }).seals)
}

/** Returns the key log of an account as the account server has it. */
export async function logAt(account: Account, id: string): Promise<KeyLog> {
  const { entries } = await account.keyLogs.read({ account: id })
  return verifyKeyLog(id, entries)
}

/** Returns the device in the key log that the account server has. */
export async function loggedOf(desk: Desk) {
  const log = await logAt(desk.account(), desk.id)
  return log.devices.get(desk.deviceId) ?? assert.fail('not in the log')
}

/** Returns the sealing keys to which a device’s envelopes at the account server are sealed. */
export async function sealedFor(desk: Desk, connection: string): Promise<string[]> {
  const { envelopes } = await desk.account().envelopes.read({ connection })
  return envelopes.map((one) => readEnvelope(one).recipient_kid)
}

/** Renews the sealing key of a device to this one, 1,216 bytes; its private half is not kept. */
export async function renewTo(desk: Desk, publicKey: Uint8Array): Promise<void> {
  const { identity } = desk.device()
  const { sign } = await identity.keys()
  const log = await logAt(desk.account(), desk.id)
  const by = { by: identity.device, kid: identity.kid, seed: sign.secret, at: 1 }
  const entry = renewSealKey({ log, seal: sealKeyId(publicKey), ...by })
  await desk.account().keyLogs.append({ body: { entry, seal_key: encodeBase64url(publicKey) } })
}

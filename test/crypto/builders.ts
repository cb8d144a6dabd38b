/** Signed entries as a device would make them, for tests that need logs of any shape. */
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { newDeviceKeys, publicKeys, type DeviceKeys } from '../../src/crypto/device-keys.ts'
import { newId, PREFIX } from '../../src/crypto/id.ts'
import { thumbprint } from '../../src/crypto/jwk.ts'
import { hashOf, signJws, type Typ } from '../../src/crypto/jws.ts'

export type TestDevice = { id: string; keys: DeviceKeys; kid: string }

export const newAccount = () => newId(PREFIX.account, Date.now())
export const newConnection = () => newId(PREFIX.connection, Date.now())

export function newDevice(): TestDevice {
  const keys = newDeviceKeys()
  return { id: newId(PREFIX.device, Date.now()), keys, kid: thumbprint(keys.sign.jwk) }
}

/** Signs anything at all as a device. */
export const sign = (typ: Typ, by: TestDevice, payload: object) =>
  signJws(typ, by.kid, payload, by.keys.sign.secret)

/** The next entry of a key log; `change` is laid over it before it is signed. */
export function logEntry(
  account: string,
  log: readonly string[],
  op: 'add' | 'revoke' | 'reset',
  device: TestDevice,
  by: TestDevice,
  change: object = {},
): string {
  const prev = encodeBase64url(log.length === 0 ? new Uint8Array(32) : hashOf(log.at(-1)!))
  const keys = op === 'revoke' ? {} : { keys: publicKeys(device.keys) }
  const entry = { v: 1, account, seq: log.length, prev, op, device: device.id, ...keys }
  return sign('keylog+jws', by, { ...entry, by: by.id, at: 1767225600, ...change })
}

/** Builds signed entries as a device would, for tests that need logs of any shape. */
import { randomBytes } from 'node:crypto'
import { accountIdOf, rawKeys } from '../../src/crypto/device-public-keys.ts'
import {
  publicKeys,
  signingKeyFrom,
  type DeviceKeyPairs,
  type KeyPair,
} from '../../src/crypto/device-keys.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { signConsent } from '../../src/crypto/logs/consent.ts'
import { newId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { entryHash, type Typ } from '../../src/crypto/jose/jws.ts'
import { signJws } from '../../src/crypto/jose/jws-signature.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import {
  addDevice,
  nameRecoveryKey,
  resetLog,
  revokeDevice,
} from '../../src/crypto/logs/key-log-entries.ts'
import { verifyKeyLog, type KeyLog } from '../../src/crypto/logs/key-log.ts'
import type { Roster, Signer } from '../../src/crypto/logs/roster.ts'
import { firstOf, newDeviceKeys } from './keys.ts'

export type TestDevice = { id: string; keys: DeviceKeyPairs; kid: string }

export const newAccount = () => newId(ID_PREFIX.account, Date.now())
export const newConnection = () => newId(ID_PREFIX.connection, Date.now())
export const newRecoveryKey = (): KeyPair => signingKeyFrom(new Uint8Array(randomBytes(32)))

export function newDevice(): TestDevice {
  const keys = newDeviceKeys()
  return { id: newId(ID_PREFIX.device, Date.now()), keys, kid: thumbprint(keys.sign.jwk) }
}

/** Signs any payload as a device. */
export const sign = (typ: Typ, by: TestDevice, payload: object) =>
  signJws(typ, by.kid, payload, by.keys.sign.secret)

/** Returns the next entry of a key log; `change` replaces members before the signature. */
export function logEntry(
  account: string,
  log: readonly string[],
  op: 'add' | 'revoke' | 'reset',
  device: TestDevice,
  by: TestDevice,
  change: object = {},
): string {
  const prev = encodeBase64url(log.length === 0 ? new Uint8Array(32) : entryHash(log.at(-1)!))
  const keys = op === 'revoke' ? {} : { keys: publicKeys(device.keys) }
  const salt = log.length === 0 ? { salt: encodeBase64url(new Uint8Array(32)) } : {}
  const entry = { v: 2, account, seq: log.length, prev, op, device: device.id, ...keys, ...salt }
  return sign('keylog+jws', by, { ...entry, by: by.id, at: 1767225600, ...change })
}

/** An account with known devices; `log` is its current key log. */
export type Person = { readonly account: string; log: KeyLog }

export const AT = 1767225600

/**
 * Returns the account that begins with a device and the salt of zeros.
 * `logEntry` gives its first entry the same salt.
 */
export const accountOf = ({ keys }: TestDevice) =>
  accountIdOf(rawKeys(publicKeys(keys)), new Uint8Array(32))

/** Returns a person with one device. */
export function newPerson(device: TestDevice): Person {
  const { account, entry } = firstOf(device.id, device.keys, AT)
  return { account, log: verifyKeyLog(account, [entry]) }
}

/** Returns a person and the person’s first device. */
export function newMember(): { person: Person; device: TestDevice } {
  const device = newDevice()
  return { person: newPerson(device), device }
}

const follow = (person: Person, entry: string) => {
  person.log = verifyKeyLog(person.account, [...person.log.entries, entry], person.log)
}
const by = ({ id, kid, keys }: TestDevice) => ({ by: id, kid, seed: keys.sign.secret, at: AT })

/** Adds a device, revokes one, names a recovery key, resets the log to a new device. */
export function add(person: Person, { id, keys }: TestDevice, signer: TestDevice) {
  const device = { id, keys: publicKeys(keys) }
  follow(person, addDevice({ log: person.log, device, ...by(signer) }))
}
export function revoke(person: Person, { id }: TestDevice, signer: TestDevice) {
  follow(person, revokeDevice({ log: person.log, device: id, ...by(signer) }))
}
export function protect(person: Person, { jwk }: KeyPair, signer: TestDevice) {
  follow(person, nameRecoveryKey({ log: person.log, key: jwk, ...by(signer) }))
}
export function reset(person: Person, { id, keys }: TestDevice, recovery?: KeyPair) {
  const vouched = recovery === undefined ? {} : { recovery }
  follow(person, resetLog({ log: person.log, device: id, keys, at: AT, ...vouched }))
}

/** Returns a device as a signer at a place of its person’s key log, by default the newest. */
export function signer({ account, log }: Person, device: TestDevice, seq = log.seq): Signer {
  const actorLog = { seq, head: log.heads[seq]! }
  const { id, kid, keys } = device
  return { actor: account, device: id, actorLog, kid, seed: keys.sign.secret, at: AT }
}

/** Returns the current key logs of people. */
export const logsOf = (...people: readonly Person[]) =>
  new Map(people.map(({ account, log }) => [account, log]))

/** Returns a place of a key log in the form that entries use. */
export const place = ({ log }: Person, seq = log.seq) => ({
  seq,
  head: encodeBase64url(log.heads[seq]!),
})

/** Returns the consent that a device of a person signs for the newest entry of a roster. */
export function consentTo(
  { connection, head }: Pick<Roster, 'connection' | 'head'>,
  inviter: Pick<Person, 'account'>,
  { account, log }: { account: string; log: Pick<KeyLog, 'seq' | 'heads'> },
  { id, kid, keys }: Pick<TestDevice, 'id' | 'kid'> & { keys: Pick<DeviceKeyPairs, 'sign'> },
  seq = log.seq,
): string {
  return signConsent({
    connection,
    inviter: inviter.account,
    account,
    device: id,
    keyLog: { seq, head: log.heads[seq]! },
    rosterHead: head,
    at: AT,
    kid,
    seed: keys.sign.secret,
  })
}

/**
 * Returns the next entry of a roster, valid or not.
 * `change` replaces the members that every entry has; a member set to undefined is omitted.
 */
export function rosterEntry(
  roster: Pick<Roster, 'connection' | 'seq' | 'head' | 'epoch'>,
  person: Person,
  device: TestDevice,
  change: object,
): string {
  const { connection, epoch } = roster
  const next = { v: 2, connection, seq: roster.seq + 1, epoch, prev: encodeBase64url(roster.head) }
  const signed = { actor: person.account, device: device.id, actor_log: place(person), at: AT }
  return sign('roster+jws', device, { ...next, ...signed, ...change })
}

/** Returns the members of an entry that opens the next epoch of a roster with K. */
export const opening = (
  { connection, epoch }: Pick<Roster, 'connection' | 'epoch'>,
  k: Uint8Array,
) => ({
  epoch: epoch + 1,
  k_commit: keyCommitment(connection, epoch + 1, k),
})

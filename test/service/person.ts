/**
 * A person with one enrolled device, and the signed structures of that device, for tests of the
 * account server. It does the work of a daemon in few lines, and can sign what a daemon of
 * `test/world` would not.
 */
import type { Account, UnauthenticatedClient } from '../../src/api/port.ts'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { publicKeys, type DeviceKeyPairs, type KeyPair } from '../../src/crypto/device-keys.ts'
import { firstOf, newDeviceKeys, newSealKey } from '../crypto/keys.ts'
import { type Epoch, sealEnvelope } from '../../src/crypto/envelope.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import {
  addDevice,
  addFirst,
  nameRecoveryKey,
  renewSealKey,
  resetLog,
  revokeDevice,
} from '../../src/crypto/logs/key-log-entries.ts'
import { newRecoverySeed, recoveryKeyOf } from '../../src/crypto/recovery-paper.ts'
import { openEntry } from '../../src/crypto/logs/roster.ts'
import { signStamp } from '../../src/crypto/stamp.ts'
import { codeIn, hasCode, type Letter } from './letters.ts'
import { until } from '../until.ts'

/** An account server as a suite sees it, in this process or over HTTP. */
export interface Server {
  /** Returns the calls that need no session; with a key, each request proves it. */
  door(key?: KeyPair): UnauthenticatedClient
  /**
   * Returns the account of an access token, for the owner of these keys. A call rejects when the
   * token or its proof is invalid.
   */
  account(of: { access_token: string; keys: Pick<DeviceKeyPairs, 'auth'> }): Account
  newEnrolmentCode(account?: string): Promise<string>
  /** Returns the mails to an address, oldest first. */
  letters(address: string): Promise<readonly Letter[]>
}

export interface Maker {
  readonly id: string
  readonly device: string
  readonly keys: DeviceKeyPairs
  readonly kid: string
  readonly entry: string
}
export type Person = Maker & {
  readonly account: Account
  readonly enrolment: Awaited<ReturnType<UnauthenticatedClient['enrolment']['create']>>
}

const AT = 1_767_225_600

/** Makes a device with its keys and entry 0, not enrolled yet. */
export function newMaker({ device = newId('dev_', Date.now()) } = {}): Maker {
  const keys = newDeviceKeys()
  const { account: id, entry } = firstOf(device, keys, AT)
  return noted({ id, device, keys, kid: thumbprint(keys.sign.jwk), entry })
}

const makers = new Map<string, Maker>()

function noted(maker: Maker): Maker {
  makers.set(maker.id, maker)
  return maker
}

/** Returns the device of an account that was made last. */
export const makerOf = (account: string): Maker => makers.get(account)!

/** Returns another first entry of the same account, with the same keys and salt. */
export function otherFirstOf({ device, keys, entry }: Maker): string {
  const { salt } = JSON.parse(Buffer.from(entry.split('.')[1]!, 'base64url').toString()) as {
    salt: string
  }
  return addFirst({ salt: decodeBase64url(salt), device, keys, at: AT + 1 }).entry
}

/** Returns a sealing key as requests carry it, base64url. */
export const sealKeyOf = ({ seal }: Pick<DeviceKeyPairs, 'seal'>) => encodeBase64url(seal.publicKey)

/** Returns the request with which the first device enrols. */
export const enrolmentOf = ({ entry, keys }: Maker, code: string, name = 'Ada') => ({
  body: {
    code,
    display_name: name,
    device_name: `${name}'s laptop`,
    platform: 'linux' as const,
    entry,
    seal_key: sealKeyOf(keys),
  },
})

/** Enrols the device of a maker, which becomes a person. */
export async function enrolled(
  server: Server,
  maker: Maker,
  code: string,
  name = 'Ada',
): Promise<Person> {
  const enrolment = await server.door().enrolment.create(enrolmentOf(maker, code, name))
  return { ...maker, enrolment, account: accountOf(server, maker, enrolment) }
}

const accountOf = (
  server: Server,
  { keys }: Pick<Maker, 'keys'>,
  { session }: Person['enrolment'],
) => server.account({ access_token: session.access_token, keys })

export const enrol = async (server: Server, name = 'Ada'): Promise<Person> =>
  enrolled(server, newMaker(), await server.newEnrolmentCode(), name)

/** Has a code sent to a mailbox, and reads it there. */
export async function mailedCode(server: Server, email: string): Promise<string> {
  await server.door().signIns.create({ body: { email } })
  const letters = await server.letters(email.toLowerCase())
  return codeIn(letters.filter(hasCode).at(-1)!)
}

/** Returns the first mail to an address with this text; some are sent in the background. */
export const arrived = (server: Server, email: string, text: RegExp): Promise<Letter> =>
  until(`a letter to ${email} with ${text}`, async () =>
    (await server.letters(email)).find((one) => text.test(one.text)),
  )

/** Enrols a person with a mailbox. */
export const enrolByMail = async (server: Server, email: string, name = 'Ada'): Promise<Person> =>
  enrolled(server, newMaker(), await mailedCode(server, email), name)

/** Returns a mailbox that is not in use. */
export const newAddress = () => `${newId('', Date.now())}@example.org`

/** A further device of an account, before or after its approval. */
export interface Newcomer {
  readonly device: string
  readonly keys: DeviceKeyPairs
  readonly kid: string
  readonly enrolment: Person['enrolment']
  readonly account: Account
}

export const newcomerOf = (keys = newDeviceKeys(), device = newId('dev_', Date.now())) => ({
  device,
  keys,
  kid: thumbprint(keys.sign.jwk),
})

/** Returns the request with which a further device enrols. */
export const furtherOf = (
  { device, keys }: Pick<Newcomer, 'device' | 'keys'>,
  code: string,
  name = 'laptop 2',
) => ({
  body: {
    code,
    device,
    keys: publicKeys(keys),
    seal_key: sealKeyOf(keys),
    device_name: name,
    platform: 'linux' as const,
  },
})

/** Enrols a further device; it waits for approval. */
export async function join(
  server: Server,
  code: string,
  newcomer = newcomerOf(),
): Promise<Newcomer> {
  const enrolment = await server.door().enrolment.further(furtherOf(newcomer, code))
  return { ...newcomer, enrolment, account: accountOf(server, newcomer, enrolment) }
}

/** Returns the verified key log of a person, as the server has it now. */
export async function logOf({ id, account }: Pick<Person, 'id' | 'account'>) {
  return verifyKeyLog(id, await allOf((from) => account.keyLogs.read({ account: id, from })))
}

/** Returns all entries of a log, read page by page. */
export async function allOf(
  read: (from: number) => Promise<{ entries: readonly string[]; seq: number }>,
): Promise<string[]> {
  const entries: string[] = []
  for (;;) {
    const page = await read(entries.length)
    entries.push(...page.entries)
    if (entries.length > page.seq) return entries
  }
}

/** Returns the address of a person who signed in by mail. */
export const addressOf = async ({ account }: Pick<Person, 'account'>): Promise<string> =>
  (await account.context.read({})).user.email!

/** Makes a device that takes an account over, after these entries of its log. */
export function resetMaker(id: string, entries: readonly string[], paper?: KeyPair): Maker {
  const keys = newDeviceKeys()
  const device = newId('dev_', Date.now())
  const recovery = paper === undefined ? {} : { recovery: paper }
  const entry = resetLog({ log: verifyKeyLog(id, entries), device, keys, at: AT, ...recovery })
  return noted({ id, device, keys, kid: thumbprint(keys.sign.jwk), entry })
}

/** Resets an account with a code that opens it. */
export async function resetOf(
  server: Server,
  id: string,
  code: string,
  entries?: readonly string[],
  paper?: KeyPair,
): Promise<Person> {
  const known = entries ?? (await server.door().signIns.read({ body: { code } })).key_log
  return enrolled(server, resetMaker(id, known, paper), code)
}

/** Makes a new recovery key valid for an account that has none. */
export async function protect(person: Person): Promise<KeyPair> {
  const paper = recoveryKeyOf(newRecoverySeed())
  const { device: by, kid, keys } = person
  const signed = { by, kid, seed: keys.sign.secret, at: AT }
  const entry = nameRecoveryKey({ log: await logOf(person), key: paper.jwk, ...signed })
  await person.account.keyLogs.append({ body: { entry } })
  return paper
}

type Signer = Pick<Person, 'id' | 'account' | 'device' | 'keys' | 'kid'>

/** Returns the entry with which a person’s device adds another, after the log of now. */
export async function additionBy(
  person: Signer,
  { device, keys }: Pick<Newcomer, 'device' | 'keys'>,
): Promise<string> {
  const log = await logOf(person)
  const added = { id: device, keys: publicKeys(keys) }
  return addDevice({ log, device: added, ...signedBy(person) })
}

/** Returns the entry with which a person’s device revokes one. */
export async function revocationBy(person: Signer, device: string): Promise<string> {
  return revokeDevice({ log: await logOf(person), device, ...signedBy(person) })
}

/** Renews the sealing key of a person's device. */
export async function renewSealing(person: Signer): Promise<void> {
  const { publicKey } = newSealKey()
  const of = { log: await logOf(person), seal: sealKeyId(publicKey), ...signedBy(person) }
  const body = { entry: renewSealKey(of), seal_key: encodeBase64url(publicKey) }
  await person.account.keyLogs.append({ body })
}

const signedBy = ({ device, kid, keys }: Pick<Signer, 'device' | 'kid' | 'keys'>) => ({
  by: device,
  kid,
  seed: keys.sign.secret,
  at: AT,
})

/** Makes both word checks: the old device adds the newcomer, the newcomer confirms the log. */
export async function approve(person: Signer, newcomer: Newcomer): Promise<void> {
  await person.account.keyLogs.append({ body: { entry: await additionBy(person, newcomer) } })
  const { head } = await logOf(person)
  await newcomer.account.approval.create({ body: { head: encodeBase64url(head) } })
}

/**
 * Returns an envelope for a device with this sealing key, even if the roster does not name it.
 */
export const envelopeTo = (
  of: Epoch & { k: Uint8Array; recipient: string; seal: { publicKey: Uint8Array } },
): Promise<string> => {
  const { k, recipient, seal, ...epoch } = of
  const { publicKey } = seal
  return sealEnvelope(epoch, k, { recipient, kid: sealKeyId(publicKey), publicKey })
}

/**
 * Returns the body that opens a connection. `entryOf` and `envelopeOf` replace values as a
 * hostile device would.
 */
export async function opening(
  { id, device, keys, kid, entry }: Maker,
  name = 'Bob',
  {
    connection = newId('con_', Date.now()),
    entryOf = {},
    envelopeOf = {},
  }: {
    connection?: string
    entryOf?: Partial<Parameters<typeof openEntry>[0]>
    envelopeOf?: Partial<Parameters<typeof envelopeTo>[0]>
  } = {},
) {
  const k = new Uint8Array(32).fill(7)
  const seed = keys.sign.secret
  const actorLog = verifyKeyLog(id, [entry])
  const opened = openEntry({
    connection,
    actor: id,
    device,
    actorLog,
    k,
    at: AT,
    kid,
    seed,
    ...entryOf,
  })
  const epochHead = entryHash(opened)
  const to = { recipient: device, seal: keys.seal }
  const envelope = await envelopeTo({ connection, epoch: 1, epochHead, k, ...to, ...envelopeOf })
  return { connection, name, entry: opened, envelopes: [envelope], invite: [] }
}

export const connect = async (person: Person, name?: string) =>
  person.account.rosters.open({ body: await opening(person, name) })

/** Returns a stamp of some content, not registered yet. */
export function stampOf(
  { id, device, keys, kid, entry }: Maker,
  of: Partial<Parameters<typeof signStamp>[0]> = {},
): { jti: string; stamp: string } {
  const jti = of.jti ?? newId('stm_', Date.now())
  const { seq, head } = verifyKeyLog(id, [entry])
  const stamp = signStamp(
    {
      jti,
      iss: id,
      dev: device,
      sha256: encodeBase64url(new Uint8Array(32).fill(9)),
      len: null,
      media_type: null,
      iat: AT,
      clock: { source: 'server', offset_ms: 0 },
      key_log: { seq, head: encodeBase64url(head) },
      ctx: null,
      assurance: 'device',
      ...of,
    },
    kid,
    keys.sign.secret,
  )
  return { jti, stamp }
}

/** Returns the same JWS with another signature of the right length. */
export const tampered = (jws: string) => {
  const [header, payload] = jws.split('.')
  return `${header}.${payload}.${encodeBase64url(new Uint8Array(64).fill(1))}`
}

/** A person with one enrolled device, and the signed structures that the device makes: what a daemon does, in few lines. */
import type { Account, Door } from '../../src/api/port.ts'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { newDeviceKeys } from '../../src/crypto/device-keys.ts'
import { sealEnvelope } from '../../src/crypto/envelope.ts'
import { newId } from '../../src/crypto/id.ts'
import { thumbprint } from '../../src/crypto/jwk.ts'
import { hashOf } from '../../src/crypto/jws.ts'
import { addFirst, verifyKeyLog } from '../../src/crypto/key-log.ts'
import { openEntry } from '../../src/crypto/roster.ts'
import { signStamp } from '../../src/crypto/stamp.ts'

/** An account server as a suite sees it, wherever it runs. */
export interface Server {
  readonly door: Door
  /** The account behind an access token. It, or its first call, rejects when the token is no good. */
  account(accessToken: string): Promise<Account>
  newEnrolmentCode(account?: string): Promise<string>
}

export interface Maker {
  readonly id: string
  readonly device: string
  readonly keys: ReturnType<typeof newDeviceKeys>
  readonly kid: string
  readonly entry: string
}
export type Person = Maker & {
  readonly account: Account
  readonly enrolment: Awaited<ReturnType<Door['enrolment']['create']>>
}

const AT = 1_767_225_600

/** A device with its keys and entry 0, not enrolled yet. */
export function newMaker(ids: { id?: string; device?: string } = {}): Maker {
  const { id = newId('acc_', Date.now()), device = newId('dev_', Date.now()) } = ids
  const keys = newDeviceKeys()
  const entry = addFirst({ account: id, device, keys, at: AT })
  return { id, device, keys, kid: thumbprint(keys.sign.jwk), entry }
}

/** What the device sends to enrol. */
export const enrolmentOf = ({ entry }: Maker, code: string, name = 'Ada') => ({
  body: {
    code,
    display_name: name,
    device_name: `${name}'s laptop`,
    platform: 'linux' as const,
    entry,
  },
})

export async function enrol(server: Server, name = 'Ada'): Promise<Person> {
  const maker = newMaker()
  const code = await server.newEnrolmentCode()
  const enrolment = await server.door.enrolment.create(enrolmentOf(maker, code, name))
  return { ...maker, enrolment, account: await server.account(enrolment.session.access_token) }
}

/** The body that opens a connection. `entryOf` and `envelopeOf` say what a hostile device would put there instead. */
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
    envelopeOf?: Partial<Parameters<typeof sealEnvelope>[0]>
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
  const envelope = await sealEnvelope({
    connection,
    epoch: 1,
    epochHead: hashOf(opened),
    k,
    sender: device,
    senderKid: kid,
    senderSeed: seed,
    recipient: device,
    recipientSeal: keys.seal.jwk,
    ...envelopeOf,
  })
  return { connection, name, entry: opened, envelopes: [envelope] }
}

export const connect = async (person: Person, name?: string) =>
  person.account.rosters.open({ body: await opening(person, name) })

/** A stamp of some content, not registered yet. */
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

/** The same JWS with another signature of the right length. */
export const tampered = (jws: string) => {
  const [header, payload] = jws.split('.')
  return `${header}.${payload}.${encodeBase64url(new Uint8Array(64).fill(1))}`
}

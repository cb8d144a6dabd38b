/** People with devices over the account server in memory. */
import type { Account } from '../../../src/api/port.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { signConsent } from '../../../src/crypto/logs/consent.ts'
import { type DeviceKeyPairs, type KeyPair, publicKeys } from '../../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../../src/crypto/jose/jwk.ts'
import { verifyKeyLog } from '../../../src/crypto/logs/key-log.ts'
import { addDevice, resetLog } from '../../../src/crypto/logs/key-log-entries.ts'
import { openDevice, type LocalDevice } from '../../../src/device/device.ts'
import { enrol } from '../../../src/device/session/enrolment.ts'
import { openIdentity, storeFacts, type Identity } from '../../../src/device/identity/identity.ts'
import { storeKeys } from '../../../src/device/identity/own-keys.ts'
import type { Keychain } from '../../../src/keychain/backend.ts'
import type { State } from '../../../src/state/state.ts'
import { memoryKeychain } from '../../keychain/memory.ts'
import { T0 } from '../bench.ts'
import { memoryServer } from '../memory-server.ts'

/** A device of a person. */
export interface Participant {
  readonly owner: number
  readonly state: State
  readonly keychain: Keychain
  readonly identity: Identity
  readonly account: Account
  /** The time at this device, in Unix milliseconds. */
  readonly clock: { ms: number }
  device: LocalDevice
  /** By connection: the longest roster it has shown. */
  readonly seen: Map<string, readonly string[]>
  /** Whether a thief made it, by a reset with the mailbox of its owner. */
  readonly isThief: boolean
  revoked: boolean
}

/** How a person, or a thief, comes back with a new device. */
export interface ComingBack {
  readonly paper: KeyPair | null
  readonly isThief: boolean
}

const run = { startedAt: T0, environment: 'test', backend: () => '', keychain: 'file' } as const

/** Returns the device after a start, over its account or a replacement of it. */
export function deviceOf(
  { state, keychain, clock }: Pick<Participant, 'state' | 'keychain' | 'clock'>,
  account: Account,
): LocalDevice {
  const now = () => clock.ms
  const identity = openIdentity(state, keychain) as Identity
  return openDevice({
    state,
    keychain,
    identity,
    account,
    clock: 'own',
    now,
    uptime: { exact: now, recent: now },
    boot: null,
    syncSoon: () => undefined,
    log: () => undefined,
    run,
  })
}

/**
 * Creates people over a new server, with one state folder for each device.
 * @param devices one or two for each person
 */
export async function people(folders: readonly State[], devices: readonly (1 | 2)[]) {
  const server = memoryServer()
  const participants: Participant[] = []
  const clock = { ms: T0 }
  const addParticipant: AddParticipant = (owner, state, keychain, isThief = false) => {
    const identity = openIdentity(state, keychain) as Identity
    const account = server.as(identity.account, identity.device)
    server.consenting.set(identity.device, (to) => consentBy(identity, to))
    const parts = { owner, state, keychain, identity, account, clock }
    const device = deviceOf(parts, account)
    participants.push({ ...parts, device, seen: new Map(), isThief, revoked: false })
  }
  for (const [owner, count] of devices.entries()) {
    const state = folders[participants.length] as State
    const keychain = memoryKeychain()
    const names = { display_name: `${owner}`, device_name: 'desk', platform: 'linux' } as const
    await enrol(state, keychain, server.door, async () => 'code', names, T0)
    addParticipant(owner, state, keychain)
    if (count === 2)
      await addSecond(
        participants.at(-1)!,
        folders[participants.length] as State,
        addParticipant,
        server,
      )
  }
  /** Replaces all devices of an account by a new one, by a reset. */
  const comeBack = (owner: number, state: State, how: ComingBack) =>
    resetBy(
      { first: participants.find((one) => one.owner === owner)!, state, how },
      addParticipant,
      server,
    )
  return { server, participants, clock, comeBack }
}

/** Returns the consent that a device signs to be added. */
async function consentBy(
  { account, device, kid, keyLog, keys }: Identity,
  to: { connection: string; inviter: string; rosterHead: Uint8Array },
): Promise<string> {
  const { sign } = await keys()
  const seed = sign.secret
  return signConsent({ ...to, account, device, keyLog: await keyLog(), at: 1, kid, seed })
}

type AddParticipant = (owner: number, state: State, keychain: Keychain, isThief?: boolean) => void
type Server = ReturnType<typeof memoryServer>

async function addSecond(
  first: Participant,
  state: State,
  addParticipant: AddParticipant,
  server: Server,
) {
  const { identity, account } = first
  const [keys, id] = [newDeviceKeys(), newId('dev_', T0)]
  const { sign } = await identity.keys()
  const entry = addDevice({
    log: await identity.keyLog(),
    device: { id, keys: publicKeys(keys) },
    by: identity.device,
    kid: identity.kid,
    seed: sign.secret,
    at: 1,
  })
  await account.keyLogs.append({ body: { entry } })
  const entries = server.logs.get(identity.account)!
  for (const [seq, one] of entries.entries())
    first.state.logs.append({ kind: 'keylog', subject: identity.account, seq, entry: one })
  await addDeviceTo({ first, state, id, keys, entries }, addParticipant, server)
}

async function resetBy(
  { first, state, how }: { first: Participant; state: State; how: ComingBack },
  addParticipant: AddParticipant,
  server: Server,
) {
  const { account } = first.identity
  const [keys, id] = [newDeviceKeys(), newId('dev_', T0)]
  const log = verifyKeyLog(account, server.logs.get(account)!)
  const recovery = how.paper === null ? {} : { recovery: how.paper }
  const entry = resetLog({ log, device: id, keys, at: 1, ...recovery })
  await server.as(account, id).keyLogs.append({ body: { entry } })
  const entries = server.logs.get(account)!
  await addDeviceTo(
    { first, state, id, keys, entries, isThief: how.isThief },
    addParticipant,
    server,
  )
}

/** Creates a further device of an account, which has its log. */
async function addDeviceTo(
  of: {
    first: Participant
    state: State
    id: string
    keys: DeviceKeyPairs
    entries: readonly string[]
    isThief?: boolean
  },
  addParticipant: AddParticipant,
  server: Server,
) {
  const { first, state, id, keys, entries } = of
  const keychain = memoryKeychain()
  server.putSealKey(id, encodeBase64url(keys.seal.publicKey))
  await storeKeys(state, keychain, keys)
  const { keys: _, keyLog: __, ...facts } = first.identity
  storeFacts(state, { ...facts, revoked: false, device: id, kid: thumbprint(keys.sign.jwk) })
  for (const [seq, entry] of entries.entries())
    state.logs.append({ kind: 'keylog', subject: first.identity.account, seq, entry })
  addParticipant(first.owner, state, keychain, of.isThief)
}

/**
 * Measures the sizes of signed and sealed structures, and the time to seal a secret to 4,000
 * devices. The time is compared with that of the HPKE library alone. It also measures the longest
 * stall of other work meanwhile.
 *
 *   node bench/sealing.ts
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Account } from '../src/api/port.ts'
import { limitNewSpace } from '../src/runtime/new-space.ts'
import { encodeBase64url } from '../src/crypto/encoding/base64url.ts'
import { sealKeyId } from '../src/crypto/device-public-keys.ts'
import { publicKeys } from '../src/crypto/device-keys.ts'
import { newId, ID_PREFIX } from '../src/crypto/encoding/id.ts'
import {
  addDevice,
  nameRecoveryKey,
  renewSealKey,
  resetLog,
  revokeDevice,
} from '../src/crypto/logs/key-log-entries.ts'
import { verifyKeyLog } from '../src/crypto/logs/key-log.ts'
import { addMember, openEntry, rotate, verifyRoster } from '../src/crypto/logs/roster.ts'
import { hpkeSuite1 } from '../src/crypto/seal-key.ts'
import { type Recipient, sealedTo } from '../src/device/identity/seal-keys.ts'
import { type State, openState } from '../src/state/state.ts'
import {
  AT,
  consentTo,
  logsOf,
  newConnection,
  newDevice,
  newPerson,
  newRecoveryKey,
  signer,
} from '../test/crypto/builders.ts'
import { newSealKey } from '../test/crypto/keys.ts'
import { busiest, median, say, stalled, timed } from './figures.ts'

const ENVELOPES = 4_000
const ROUNDS = 3

const [ann, phone, bob, home] = [newDevice(), newDevice(), newDevice(), newDevice()]
const [A, B] = [newPerson(ann), newPerson(bob)]
const keyLogs = logsOf(A, B)
const connection = newConnection()
const k = new Uint8Array(randomBytes(32))
const alone = verifyRoster(connection, [openEntry({ connection, k, ...signer(A, ann) })], keyLogs)

function sizes(): void {
  const { log } = A
  const by = { by: ann.id, kid: ann.kid, seed: ann.keys.sign.secret, at: AT }
  const paper = newRecoveryKey()
  const named = nameRecoveryKey({ log, key: paper.jwk, ...by })
  const withPaper = verifyKeyLog(A.account, [...log.entries, named])
  const back = { device: home.id, keys: home.keys, recovery: paper, at: AT }
  const device = { id: phone.id, keys: publicKeys(phone.keys) }
  const added = addDevice({ log, device, ...by })
  const both = verifyKeyLog(A.account, [...log.entries, added])
  const consent = consentTo(alone, A, B, bob)
  const add = addMember({
    roster: alone,
    keyLogs,
    member: B.account,
    memberLog: B.log,
    role: 'member',
    consent,
    ...signer(A, ann),
  })
  const two = verifyRoster(connection, [...alone.entries, add], keyLogs)
  const lines: [what: string, text: string][] = [
    ['key log: first entry', log.entries[0]!],
    ['key log: add', added],
    ['key log: renew', renewSealKey({ log, seal: sealKeyId(phone.keys.seal.publicKey), ...by })],
    ['key log: revoke', revokeDevice({ log: both, device: phone.id, ...by })],
    ['key log: recovery', named],
    ['key log: reset with the recovery key', resetLog({ log: withPaper, ...back })],
    ['sealing key beside the log', encodeBase64url(ann.keys.seal.publicKey)],
    ['roster: open', alone.entries[0]!],
    ['consent', consent],
    ['roster: add, with its consent', add],
    ['roster: rotate', rotate({ roster: two, keyLogs, k, ...signer(B, bob) })],
  ]
  for (const [what, text] of lines) say(`${what}: ${text.length} bytes`)
}

/** Returns devices as a key log names them, with their sealing keys in a state database. */
function recipients(state: State): Recipient[] {
  const keys = new Map<string, Uint8Array>()
  const those = Array.from({ length: ENVELOPES }, () => {
    const { publicKey } = newSealKey()
    const seal = sealKeyId(publicKey)
    keys.set(seal, publicKey)
    return { account: A.account, device: { id: newId(ID_PREFIX.device, Date.now()), seal } }
  })
  state.sealKeys.add(A.account, keys)
  return those
}

/** Seals with the library alone, to the same keys. */
async function bare(state: State, those: readonly Recipient[]): Promise<void> {
  const suite = hpkeSuite1()
  for (const { account, device } of those) {
    const key = await suite.DeserializePublicKey(state.sealKeys.get(account, device.seal)!)
    await suite.Seal(key, k)
  }
}

const all = (values: readonly number[], digits = 1) =>
  `${median(values).toFixed(digits)}  (${values.map((value) => value.toFixed(digits)).join(' ')})`

async function sealing(state: State): Promise<void> {
  const those = recipients(state)
  // Sealing does not call it: all keys are in the state.
  const account = {} as Account
  const seal = () => sealedTo(state, account, { roster: alone, k }, those)
  const [envelope = ''] = await seal()
  say(`envelope: ${envelope.length} bytes`)
  await bare(state, those)
  const [ours, ratios, stalls, rests, slices]: number[][] = [[], [], [], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    const theirs = await timed(() => bare(state, those))
    let own = 0
    stalls!.push(await stalled(async () => (own = await timed(seal))))
    rests!.push(await stalled(() => wait(2_000)))
    slices!.push(await busiest(seal))
    ours!.push(own)
    ratios!.push(theirs / own)
  }
  say(`Sealing ${ENVELOPES} envelopes, ms: ${all(ours!, 0)}`)
  say(`  time of the HPKE library alone ÷ ours: ${all(ratios!, 2)}`)
  say(`  longest stall meanwhile, ms: ${all(stalls!)}; with nothing going on: ${all(rests!)}`)
  say(`  longest use of the processor without a turn, ms: ${all(slices!)}`)
}

// As in a daemon.
limitNewSpace()
sizes()
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const state = openState(folder)
try {
  await sealing(state)
} finally {
  state.close()
  rmSync(folder, { recursive: true })
}

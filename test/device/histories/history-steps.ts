/**
 * The steps that users, thieves and a dishonest account server can do to a connection.
 * Any step may end in a crash; what the device wrote stays.
 */
import assert from 'node:assert/strict'
import type { Account } from '../../../src/api/port.ts'
import type { KeyPair } from '../../../src/crypto/device-keys.ts'
import { linkingKeys } from '../../../src/crypto/logs/generations.ts'
import { verifyKeyLog } from '../../../src/crypto/logs/key-log.ts'
import { revokeDevice, vouchFor } from '../../../src/crypto/logs/key-log-entries.ts'
import { newRecoverySeed, recoveryKeyOf } from '../../../src/crypto/recovery-paper.ts'
import { Refusal } from '../../../src/crypto/refusal.ts'
import { confirmSeats } from '../../../src/device/trust/confirmed-keys.ts'
import type { LocalDevice } from '../../../src/device/device.ts'
import { inviteMembers } from '../../../src/device/connections/invites.ts'
import { pullKeyLog } from '../../../src/device/logs/key-log.ts'
import { judgeHolds } from '../../../src/device/logs/connection-record.ts'
import { leaveOrEnd, remove, rotateNow, setRole } from '../../../src/device/connections/members.ts'
import { putRecoveryKey, readRecoveryKey } from '../../../src/device/trust/recovery-key.ts'
import { revoke } from '../../../src/device/session/sign-out.ts'
import { renewNow } from '../../../src/device/sync/seal-renewal.ts'
import { AppError } from '../../../src/errors.ts'
import { leaveConnection } from '../../../src/handlers/connections.ts'
import { Crash, dyingAt, lyingTo } from './history-lies.ts'
import type { Step, What } from './history-plans.ts'
import type { memoryServer } from '../memory-server.ts'
import { type ComingBack, deviceOf, type Participant } from '../session/sessions.ts'

/** The state that the steps change. */
export interface Scene {
  readonly server: ReturnType<typeof memoryServer>
  readonly participants: readonly Participant[]
  /** The first connection; others replace it. */
  readonly connection: string
  readonly clock: { ms: number }
  /** The connections with two histories on the server. */
  readonly split: Set<string>
  /** The recovery papers of an account’s owner and of its thieves, the oldest first. */
  readonly papers: Map<string, KeyPair[]>
  /** By entry that adds an account to a replacement: what its signer held, see `noteHeld`. */
  readonly heldAt: ReadonlyMap<string, readonly string[]>
  /** Invitations that a user made: device, connection and account, separated by spaces. */
  readonly byHand: Set<string>
  /** Replaces all devices of an account by a new one. */
  readonly comeBack: (owner: number, how: ComingBack) => Promise<void>
}

const RESETS = 3

/** Reasons of refusals; a report without one of them is a failure. */
const NAMED =
  /(refused|invalid [a-z ]+|not valid) \([a-z_0-9]+\)|followed on this device|forked|approval that was withdrawn|sealed to a key that this device no longer has|have to confirm|not those that you reviewed|only owner|came back through the fork|was therefore not added/

/** Runs a sync; its error must name a reason. */
export async function syncNamed(on: LocalDevice): Promise<void> {
  const { error } = await on.sync.run('request')
  if (error !== null) assert.match(error, NAMED)
}

/** Returns the connection that a device uses: the first one, or its replacement. */
export function currentOf({ connection }: Scene, { state }: Participant): string {
  let id = connection
  for (;;) {
    const next = state.replacements.inPlaceOf(id)
    if (next === null) return id
    id = next
  }
}

/** Returns whether all active devices of an account are a thief’s. */
export const isStolen = ({ participants }: Scene, account: string): boolean =>
  participants.some((one) => one.identity.account === account && one.isThief && !one.revoked)

/** Signs the device out, as its holder. */
async function signOut({ identity, account }: Participant): Promise<void> {
  const { sign } = await identity.keys()
  const log = await identity.keyLog()
  if (log.active.every(({ id }) => id !== identity.device)) return
  const by = { by: identity.device, kid: identity.kid, seed: sign.secret, at: 1 }
  const entry = revokeDevice({ log, device: identity.device, ...by })
  await account.keyLogs.append({ body: { entry } })
}

/** Returns the papers that a user, or a thief, wrote for an account. */
export function papersOf({ papers }: Scene, account: string, isThief: boolean): KeyPair[] {
  const key = `${account} ${isThief}`
  return papers.get(key) ?? papers.set(key, []).get(key)!
}

/** `recovery create`: the paper is written before the account server gets its key. */
async function newPaper(scene: Scene, { isThief }: Participant, on: LocalDevice, account: Account) {
  const papers = papersOf(scene, on.identity.account, isThief)
  const { key, next } = await readRecoveryKey(on, account)
  const old = papers.find(({ jwk }) => jwk.x === key?.x)
  // Only a holder of the paper in force can replace it.
  if (key !== null && old === undefined) return
  const paper = recoveryKeyOf(newRecoverySeed())
  papers.push(paper)
  const entry = { op: 'recovery', ...next, key: paper.jwk } as const
  const vouched = old === undefined ? {} : { recovery_sig: vouchFor(entry, old) }
  await putRecoveryKey(on, account, { key: paper.jwk, seq: next.seq, ...vouched })
}

/** Returns the owner’s newest paper that would link a reset; null for none. */
export function paperInForce(scene: Scene, account: string): KeyPair | null {
  const log = verifyKeyLog(account, scene.server.logs.get(account)!)
  const keys = linkingKeys(log.generations)
  return papersOf(scene, account, false).findLast(({ jwk }) => keys.includes(jwk.x)) ?? null
}

/** Compares the newest keys of an account as its contact and confirms them. */
export async function confirmNow(
  { server }: Scene,
  on: LocalDevice,
  account: Account,
  member: string,
): Promise<void> {
  const { generation, seq } = await pullKeyLog(on, account, member)
  server.follow(on.identity.account, member)
  on.state.trust.put({
    account: member,
    pinned: generation,
    confirmed: true,
    seq,
    newest: generation,
    refused: null,
    checked_at: 0,
    recovered_at: null,
    key_unused: false,
  })
  await confirmSeats(on, account, member)
  judgeHolds(on, member)
}

async function act(scene: Scene, by: Participant, what: What, on: LocalDevice, account: Account) {
  const { participants, server } = scene
  const connection = currentOf(scene, by)
  const accountOf = (of: number) => participants.find((one) => one.owner === of)!.identity.account
  const { device: id, account: own } = by.identity
  const { lies } = server.rosters
  switch (what.do) {
    case 'sync':
      return void (await on.sync.run('request'))
    case 'lied':
      return syncNamed(deviceOf(by, lyingTo(what.how, by.account, server, id)))
    case 'later':
      scene.clock.ms += 11 * 60_000
      return
    case 'lose':
      await rotateNow(on, account, connection)
      for (const { envelopes } of server.rosters.branches(connection)) envelopes.clear()
      return
    case 'add':
    case 'invite': {
      const user_id = accountOf(what.whom)
      scene.byHand.add(`${id} ${connection} ${user_id}`)
      await inviteMembers(on, account, connection, { user_id })
      if (what.do === 'add') await on.sync.run('request')
      return
    }
    case 'remove':
      return remove(on, account, connection, accountOf(what.whom))
    case 'promote':
    case 'demote': {
      const role = what.do === 'promote' ? 'owner' : 'member'
      await setRole(on, account, connection, { member: accountOf(what.whom), role })
      return
    }
    case 'leave':
      await leaveOrEnd(on, account, connection)
      return
    case 'end':
      return leaveConnection(connection, account, on, 'end')
    case 'rotate':
      await rotateNow(on, account, connection)
      return
    case 'renew':
      await renewNow(on, account)
      return
    case 'revoke': {
      const target = participants[what.whom]
      if (target?.owner === by.owner) await revoke(on, account, target.identity.device)
      return
    }
    case 'signOut':
      return signOut(by)
    case 'paper':
      return newPaper(scene, by, on, account)
    case 'reset': {
      const [oldest = null] = papersOf(scene, own, false)
      const found = what.with === 'oldest paper' ? oldest : paperInForce(scene, own)
      const paper = what.with === 'nothing' ? null : found
      const isMeant = what.with === 'nothing' || paper !== null
      if (isMeant && participants.length < 5 + RESETS)
        await scene.comeBack(by.owner, { paper, isThief: false })
      return
    }
    case 'theft':
      if (participants.length < 5 + RESETS)
        await scene.comeBack(by.owner, { paper: null, isThief: true })
      return
    case 'confirm': {
      const member = accountOf(what.whom)
      if (!isStolen(scene, member)) await confirmNow(scene, on, account, member)
      return
    }
    case 'split': {
      const chosen = participants.filter((_, at) => ((what.devices >> at) & 1) === 1)
      lies.split(
        connection,
        chosen.map(({ identity }) => identity.device),
      )
      if (server.rosters.branches(connection).length > 1) scene.split.add(connection)
      return
    }
    case 'show':
      lies.flip(connection, id)
      await syncNamed(by.device)
      lies.flip(connection, id)
      return
    case 'join':
      return lies.join(connection, what.second)
  }
}

/** Returns whether an error is an answer to the user or a crash, not a failure of the test. */
const isExpected = (error: unknown) =>
  error instanceof AppError || error instanceof Crash || error instanceof Refusal

/** Runs one step; devices that a crash or another key ended start again. */
export async function take(scene: Scene, { what, crash }: Step): Promise<void> {
  const by = scene.participants[what.by]
  if (by === undefined || (by.revoked && what.do !== 'reset' && what.do !== 'theft')) return
  // The account server refuses that an account follows itself.
  if ((what.do === 'remove' || what.do === 'confirm') && what.whom === by.owner) return
  const account = crash === null ? by.account : dyingAt(by.account, crash.at, crash.after)
  const on = crash === null ? by.device : deviceOf(by, account)
  await act(scene, by, what, on, account).catch((error: unknown) => {
    if (!isExpected(error)) throw error
  })
  // Its memory is lost; what it wrote stays.
  if (crash !== null) by.device = deviceOf(by, by.account)
}

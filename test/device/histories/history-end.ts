/**
 * The end of a history: the server is honest, all devices sync, and people decide about keys.
 * Syncs repeat until nothing changes. Then all devices agree or give a valid reason, and every
 * connection can be verified, or was replaced, and can be left.
 */
import assert from 'node:assert/strict'
import { dismissed } from '../../../src/device/connections/ignored-connections.ts'
import { remove, rotateNow } from '../../../src/device/connections/members.ts'
import { noWords } from '../../../src/device/connections/no-words.ts'
import { leaveConnection } from '../../../src/handlers/connections.ts'
import { cameBack, checkRoles, toInvite } from './history-roles.ts'
import { confirmNow, isStolen, paperInForce, type Scene, syncNamed } from './history-steps.ts'
import { activeIn, hasSecret, memberIn, type Truth, truthOf, truths } from './history-truth.ts'
import type { Participant } from '../session/sessions.ts'

/** Three rounds give every owner a turn, and every member its wait. */
const QUIET = 3
const MOST_ROUNDS = 20

export const liveOf = ({ participants }: Scene): Participant[] =>
  participants.filter(({ revoked }) => !revoked)

/** Updates `revoked` of every device from the key logs. */
export function noteRevoked(scene: Scene): void {
  for (const participant of scene.participants)
    participant.revoked = !activeIn(scene, participant.identity.account).includes(
      participant.identity.device,
    )
}

/** Checks that a device never replaces a stored roster by a shorter or different one. */
export function neverBack({ participants, server }: Scene): void {
  for (const participant of participants)
    for (const id of new Set([...server.rosters.ids(), ...participant.seen.keys()])) {
      const now = participant.state.logs.read('roster', id)
      const before = participant.seen.get(id) ?? []
      const isForgotten = now.length === 0 && participant.state.connections.get(id) === null
      if (!isForgotten) assert.deepEqual(now.slice(0, before.length), before, 'a roster went back')
      participant.seen.set(id, now)
    }
}

async function rest(scene: Scene): Promise<void> {
  const { server, clock } = scene
  const now = () => [
    server.rosters.updates(),
    ...[...server.logs.values()].map((log) => log.length),
  ]
  for (let quiet = 0, round = 0; quiet < QUIET; round++) {
    assert(round < MOST_ROUNDS, 'the devices never come to rest')
    const before = now()
    // The devices of the other members rotate after at most ten minutes.
    clock.ms += 11 * 60_000
    for (const { device } of liveOf(scene)) await syncNamed(device)
    neverBack(scene)
    quiet = now().join() === before.join() ? quiet + 1 : 0
  }
  for (const { device } of liveOf(scene)) {
    const last = device.sync.last()
    assert(last?.ok, last?.error ?? 'no sync')
  }
}

const isForked = ({ state }: Participant, id: string) => state.forks.has(id)

/**
 * Returns the devices that may continue a connection: of a confirmed member, without a detected
 * fork. A member may have deleted a connection that ended, which the roster does not say.
 */
const wholeIn = (scene: Scene, truth: Truth) =>
  liveOf(scene).filter(
    (participant) =>
      memberIn(truth, participant) !== undefined &&
      scene.server.rosters.get(truth.id)?.roles.has(participant.identity.account) === true &&
      !truth.unconfirmed.includes(participant.identity.account) &&
      !isForked(participant, truth.id) &&
      !dismissed(participant.state).has(truth.id),
  )

/** Returns a device that may decide for an owner who has not lost the account to a thief. */
const deciding = (scene: Scene, truth: Truth) =>
  truth.ended
    ? undefined
    : wholeIn(scene, truth).find(
        (participant) =>
          memberIn(truth, participant)?.role === 'owner' &&
          !isStolen(scene, participant.identity.account),
      )

/** Lets owners remove accounts that came back by a fork, if their devices report that. */
async function removeReturned(scene: Scene): Promise<void> {
  for (const by of liveOf(scene))
    for (const id of scene.server.rosters.ids()) {
      const truth = truthOf(scene, id, scene.server.rosters.get(id)!)
      const isOwner = memberIn(truth, by)?.role === 'owner' && wholeIn(scene, truth).includes(by)
      if (!isOwner || (await reasonOf(scene, by, id)) !== 'member_returned') continue
      for (const member of cameBack(scene, by, truth))
        await remove(by.device, by.account, id, member)
      await syncNamed(by.device)
    }
}

/** Compares safety numbers: people confirm keys, and remove accounts that a thief has. */
async function decide(scene: Scene): Promise<void> {
  for (const truth of truths(scene)) {
    const by = deciding(scene, truth)
    if (by === undefined) continue
    const { device, account } = by
    for (const { account: member } of truth.members)
      if (isStolen(scene, member)) await remove(device, account, truth.id, member)
    for (const member of truth.unconfirmed)
      if (!isStolen(scene, member)) await confirmNow(scene, device, account, member)
  }
  for (const { device, account, state } of liveOf(scene))
    for (const member of state.trust.accounts())
      if (!isStolen(scene, member)) await confirmNow(scene, device, account, member)
}

/** Lets owners with a stolen account reset it with the recovery key, if they have one. */
async function undoThefts(scene: Scene): Promise<void> {
  for (const owner of [0, 1, 2]) {
    const { identity } = scene.participants.find((one) => one.owner === owner)!
    const paper = paperInForce(scene, identity.account)
    if (!isStolen(scene, identity.account) || paper === null) continue
    await scene.comeBack(owner, { paper, isThief: false })
    noteRevoked(scene)
  }
}

/** @param isSecond which history of a connection the honest server continues with */
export async function settle(scene: Scene, isSecond: boolean): Promise<void> {
  for (const id of scene.server.rosters.ids()) scene.server.rosters.lies.join(id, isSecond)
  await undoThefts(scene)
  await rest(scene)
  await removeReturned(scene)
  await decide(scene)
  await rest(scene)
  for (const truth of truths(scene)) {
    if (deciding(scene, truth) !== undefined) assert.deepEqual(truth.unconfirmed, [])
    await haveSecret(scene, truth)
  }
  await rest(scene)
}

/**
 * Checks that devices lack the secret only if no device has it.
 * In that case one of them creates a new secret.
 */
async function haveSecret(scene: Scene, truth: Truth): Promise<void> {
  if (truth.ended || truth.held.length > 0) return
  const whole = wholeIn(scene, truth)
  const [lacking] = whole.filter((participant) => !hasSecret(truth, participant))
  if (lacking === undefined) return
  const { code } = await noWords(lacking.device, lacking.account, truth.id)
  assert.equal(code, 'secret_unavailable')
  assert(
    !whole.some((participant) => hasSecret(truth, participant)),
    'who has the secret seals it to the others',
  )
  await rotateNow(lacking.device, lacking.account, truth.id)
}

/** Returns the reason why a device has no words; null if it has words. */
async function reasonOf(
  scene: Scene,
  participant: Participant,
  id: string,
): Promise<string | null> {
  if (participant.device.codes.toSay(id, scene.clock.ms) !== null) return null
  const { code, details } = await noWords(participant.device, participant.account, id)
  return typeof details.state === 'string' ? details.state : code
}

/**
 * Checks that a device with two histories reports them and keeps the evidence.
 * It must replace the connection if it may.
 */
async function checkFork(scene: Scene, participant: Participant, id: string): Promise<void> {
  const { state, identity } = participant
  assert.equal(await reasonOf(scene, participant, id), 'roster_forked')
  assert(scene.split.has(id), 'no fork where the server made none')
  const entries = state.logs.read('roster', id)
  const [other] = state.forks.read(id)
  assert(other !== undefined && other.entry !== entries[other.seq], 'both histories are kept')
  const branch = truthOf(scene, id, { entries })
  const isOwner = memberIn(branch, participant)?.role === 'owner'
  const isConfirmed = !branch.unconfirmed.includes(identity.account)
  const mayReplace =
    isOwner && isConfirmed && !branch.ended && toInvite(scene, participant, branch).length > 0
  if (mayReplace) assert.notEqual(state.replacements.inPlaceOf(id), null, 'an owner replaces it')
}

/**
 * Checks a device’s reason against the result of the second implementation for the connection.
 */
function assertReason(scene: Scene, participant: Participant, truth: Truth, reason: string): void {
  const { unconfirmed, members, ended } = truth
  const isDoubtful = unconfirmed.length > 0 || members.some((one) => isStolen(scene, one.account))
  if (reason === 'ended') assert(ended)
  else if (reason === 'member_returned')
    assert.notDeepEqual(cameBack(scene, participant, truth), [])
  else {
    assert.match(reason, /^(changed_unverified|rotation_pending)$/)
    assert(isDoubtful, reason)
  }
}

/**
 * Returns whether a device that may continue agrees with the others. If not, checks its reason.
 */
async function agrees(scene: Scene, truth: Truth, participant: Participant): Promise<boolean> {
  const { state } = participant
  const reason = await reasonOf(scene, participant, truth.id)
  if (reason !== null) {
    assertReason(scene, participant, truth, reason)
    return false
  }
  assert.deepEqual([truth.held, truth.rotation_pending, truth.ended], [[], false, false])
  assert.deepEqual(state.logs.read('roster', truth.id), truth.entries)
  const row = state.connections.get(truth.id)
  assert.deepEqual([row?.hold, row?.epoch], [null, truth.epoch])
  assert.deepEqual(
    row?.members.map(({ user_id }) => user_id),
    truth.members.map(({ account }) => account),
  )
  assert(hasSecret(truth, participant), 'the words are those of the epoch')
  return true
}

/** Checks that the words of one device verify at every device of another account. */
async function hears(scene: Scene, id: string, those: readonly Participant[]): Promise<void> {
  const [speaker] = those
  if (speaker === undefined) return
  scene.clock.ms += 60_000
  const speech = speaker.device.codes.toSay(id, scene.clock.ms)
  assert(speech !== null)
  for (const { identity, device } of those) {
    if (identity.account === speaker.identity.account) continue
    const { verified, matches } = await device.verifier.verify(speech.words, null)
    assert.equal(verified, true)
    assert(matches.some((match) => match.connection_id === id))
  }
}

/** Checks one connection; returns how many devices have its words. */
export async function check(
  scene: Scene,
  truth: Truth,
  secrets: ReadonlyMap<Participant, ReadonlySet<string>>,
): Promise<number> {
  const { id, unconfirmed } = truth
  const whole = wholeIn(scene, truth)
  for (const participant of liveOf(scene)) {
    const isListed = participant.state.connections.get(id) !== null
    if (memberIn(truth, participant) === undefined)
      assert(!isListed, 'a former member still has it')
    else if (isForked(participant, id)) {
      if (isListed) await checkFork(scene, participant, id)
    } else if (isListed && unconfirmed.includes(participant.identity.account)) {
      const reason = await reasonOf(scene, participant, id)
      assert.equal(reason, truth.ended ? 'ended' : 'changed_unverified')
    }
  }
  const speaking: Participant[] = []
  for (const participant of whole)
    if (await agrees(scene, truth, participant)) speaking.push(participant)
  const [one] = speaking
  if (one !== undefined) {
    const secret = Buffer.from(one.device.vault.get(id)!).toString('hex')
    for (const participant of scene.participants) {
      const isFormer = participant.revoked || memberIn(truth, participant) === undefined
      if (isFormer || unconfirmed.includes(participant.identity.account))
        assert(!secrets.get(participant)!.has(secret), 'a former one knows the secret')
    }
  }
  checkRoles(scene, truth)
  await hears(scene, id, speaking)
  return speaking.length
}

/** Checks that every account can leave a connection in any state. */
export async function allLeave(scene: Scene): Promise<void> {
  for (const { state, account, device } of liveOf(scene)) {
    await device.sync.run('request')
    for (const id of state.connections.ids().toSorted()) {
      await leaveConnection(id, account, device, 'end')
      assert.equal(state.connections.get(id), null)
    }
  }
}

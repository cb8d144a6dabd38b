/** Runs one history: the steps of a plan, the checks after each step, and the end. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { keyCommitment } from '../../../src/crypto/logs/roster-form.ts'
import { openConnection } from '../../../src/device/connections/connections.ts'
import { inviteMembers } from '../../../src/device/connections/invites.ts'
import { setRole } from '../../../src/device/connections/members.ts'
import type { State } from '../../../src/state/state.ts'
import { T0 } from '../bench.ts'
import { allLeave, check, neverBack, noteRevoked, settle } from './history-end.ts'
import type { Frame, Step } from './history-plans.ts'
import { noteHeld } from './history-roles.ts'
import { type Scene, take } from './history-steps.ts'
import { hasSecret, truths } from './history-truth.ts'
import { payloadOf } from '../memory-branches.ts'
import { people, type Participant } from '../session/sessions.ts'

/**
 * Checks that no device added by a reset has the current secret before an owner confirmed its
 * keys.
 */
function neverUnconfirmed(scene: Scene): void {
  for (const truth of truths(scene))
    for (const participant of scene.participants)
      if (!participant.revoked && truth.unconfirmed.includes(participant.identity.account))
        assert(!hasSecret(truth, participant), 'keys that nobody confirmed')
}

/** Checks that words come from the secret of their epoch, also with a dishonest server. */
function neverOldSecret({ server, participants, clock }: Scene): void {
  for (const { state, device } of participants)
    for (const id of server.rosters.ids()) {
      const [row, k] = [state.connections.get(id), device.vault.get(id)]
      if (row === null || k === null || device.codes.toSay(id, clock.ms) === null) continue
      const opener = state.logs
        .read('roster', id)
        .map(payloadOf)
        .find(({ epoch, k_commit }) => epoch === row.epoch && k_commit !== undefined)
      assert.equal(keyCommitment(id, row.epoch, k), opener?.k_commit, 'a secret of another epoch')
    }
}

async function opened(
  first: Participant,
  participants: readonly Participant[],
  full: boolean,
): Promise<string> {
  const wanted = { name: 'Bank', invite: [] }
  const made = { id: randomBytes(16), at: T0 }
  const { id } = await openConnection(first.device, first.account, wanted, made)
  if (!full) return id
  const [other, third] = [2, 4].map((at) => participants[at]!.identity.account)
  for (const user_id of [other!, third!])
    await inviteMembers(first.device, first.account, id, { user_id })
  for (const participant of [...participants, ...participants])
    await participant.device.sync.run('request')
  await setRole(first.device, first.account, id, { member: other!, role: 'owner' })
  for (const participant of participants) await participant.device.sync.run('request')
  return id
}

/** Counts of the ends of histories, which show what a run covered. */
export const ends = { forks: 0, replacements: 0, stolen: 0, speaking: 0, silent: 0 }

/** Runs a plan and its end. */
export async function history(
  newFolder: () => State,
  plan: readonly Step[],
  { full, isSecond }: Frame,
) {
  const { server, participants, clock, comeBack } = await people(
    Array.from({ length: 5 }, newFolder),
    [2, 2, 1],
  )
  const heldAt = new Map<string, readonly string[]>()
  noteHeld({ server, participants, heldAt })
  const connection = await opened(participants[0]!, participants, full)
  const scene: Scene = {
    server,
    participants,
    connection,
    clock,
    split: new Set(),
    papers: new Map(),
    heldAt,
    byHand: new Set(),
    comeBack: (owner, how) => comeBack(owner, newFolder(), how),
  }
  /** Every secret that was ever the current one, by the device that held it. */
  const secrets = new Map<Participant, Set<string>>()
  const note = () => {
    for (const participant of participants) {
      const known =
        secrets.get(participant) ?? secrets.set(participant, new Set()).get(participant)!
      for (const id of server.rosters.ids()) {
        const k = participant.device.vault.get(id)
        if (k !== null) known.add(Buffer.from(k).toString('hex'))
      }
    }
  }

  note()
  for (const one of plan) {
    await take(scene, one)
    noteRevoked(scene)
    neverBack(scene)
    neverUnconfirmed(scene)
    neverOldSecret(scene)
    note()
  }
  await settle(scene, isSecond)
  neverUnconfirmed(scene)
  note()
  for (const truth of truths(scene)) {
    const speaking = await check(scene, truth, secrets)
    ends[speaking > 0 ? 'speaking' : 'silent'] += 1
    if (truth.id !== connection) ends.replacements += 1
  }
  if (participants.some(({ state }) => state.forks.has(connection))) ends.forks += 1
  if (participants.some(({ isThief }) => isThief)) ends.stolen += 1
  await allLeave(scene)
}

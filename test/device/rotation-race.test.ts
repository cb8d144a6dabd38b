/** Tests 200 members who all see one revocation: it causes one rotation, and all agree on it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import {
  type KeyLogs,
  type Roster,
  heldMembers,
  openEntry,
  rotationDue,
  verifyRoster,
} from '../../src/crypto/logs/roster.ts'
import { newRotationWaits } from '../../src/device/logs/hold-ups.ts'
import {
  add,
  consentTo,
  logsOf,
  newConnection,
  newDevice,
  newMember,
  opening,
  place,
  revoke,
  rosterEntry,
  signer,
} from '../crypto/builders.ts'

const MEMBERS = 200
const SECOND = 1000

type Member = ReturnType<typeof newMember>

/** Returns a connection of 200; the last member has a phone. */
function scene() {
  const all = Array.from({ length: MEMBERS }, newMember)
  const [owner, victim] = [all[0]!, all.at(-1)!]
  const phone = newDevice()
  add(victim.person, phone, victim.device)
  const connection = newConnection()
  const k = new Uint8Array(32)
  const entries = [openEntry({ connection, k, ...signer(owner.person, owner.device) })]
  for (const { person, device } of all.slice(1)) {
    const head = entryHash(entries.at(-1)!)
    const roster = { connection, seq: entries.length - 1, head, epoch: 1 }
    const consent = consentTo(roster, owner.person, person, device)
    const member = { member: person.account, member_log: place(person), role: 'member', consent }
    entries.push(rosterEntry(roster, owner.person, owner.device, { op: 'add', ...member }))
  }
  const logs = () => logsOf(...all.map(({ person }) => person))
  const before = logs()
  revoke(victim.person, phone, victim.device)
  const roster = verifyRoster(connection, entries, logs())
  assert.equal(roster.members.length, MEMBERS)
  assert.deepEqual(heldMembers(roster, logs()), [victim.person.account])
  return { all, victim, connection, entries, roster, before, after: logs() }
}

/**
 * Returns the rotation that a member signs, with a row for the victim if that is another member.
 */
function rotationBy({ person, device }: Member, roster: Roster, victim: Member): string {
  const row = { account: victim.person.account, ...place(victim.person) }
  const logs = person === victim.person ? {} : { logs: [row] }
  return rosterEntry(roster, person, device, {
    op: 'rotate',
    ...opening(roster, new Uint8Array(32).fill(1)),
    ...logs,
  })
}

/** Returns what a device stores of an epoch. */
const seen = (roster: Roster) => ({
  epoch: roster.epoch,
  head: encodeBase64url(roster.epochHead),
  members: roster.members.map(({ account }) => account),
})

const { all, victim, connection, entries, roster, before, after } = scene()

const nobodyIsDue = (of: Roster, logs: KeyLogs) =>
  assert.deepEqual(
    all.filter(({ person }) => rotationDue(of, logs, person.account) !== null),
    [],
  )

describe('a revocation that 200 members see', () => {
  it('at once: each of their rotations covers it for all, and any two are a fork', () => {
    const racing = all.map((member) => rotationBy(member, roster, victim))
    for (const at of [0, 1, 99, 198, 199]) {
      const next = verifyRoster(connection, [...entries, racing[at]!], after)
      assert.deepEqual([next.epoch, heldMembers(next, after)], [2, []])
      nobodyIsDue(next, after)
    }
    const both = [...entries, racing[7]!, racing[8]!]
    assert.throws(
      () => verifyRoster(connection, both, after),
      (error) => error instanceof Refusal && error.reason === 'roster_forked',
    )
  })

  it('each after its wait: the device with the shortest wait makes one entry', () => {
    let now = 0
    const waiting = all.slice(0, -1).map((member, at) => {
      const random = () => ((at * 7919 + 31) % 199) / 199
      const waits = newRotationWaits({
        now: () => now,
        wake: () => undefined,
        after: () => undefined,
        random,
      })
      return { member, waits, shortest: random() === 0 }
    })
    const server = [...entries]
    const first = waiting.find(({ shortest }) => shortest)!
    /** The connection by a device’s state: all that the server had at its last sync. */
    let known = roster
    for (; now <= 600 * SECOND; now += 30 * SECOND)
      for (const { member, waits } of waiting) {
        const due = rotationDue(known, after, member.person.account)
        if (due === null || !waits.isOver(known)) continue
        server.push(rotationBy(member, known, victim))
        known = verifyRoster(connection, server, after)
        assert.equal(member, first.member)
      }
    assert.equal(server.length, entries.length + 1)
    nobodyIsDue(known, after)
  })

  it('at different times: the rotation covers also devices that wait for the named log', () => {
    const rotated = [...entries, rotationBy(all[3]!, roster, victim)]
    const [knowing, late] = [after, before].map((logs) => verifyRoster(connection, rotated, logs))
    assert.deepEqual(seen(late!), seen(knowing!))
    assert.deepEqual([knowing!.unfit, late!.unfit], [[], [victim.person.account]])
    nobodyIsDue(late!, before)
    // The revocation that comes now is covered already.
    assert.deepEqual(heldMembers(verifyRoster(connection, rotated, after), after), [])
  })
})

/**
 * Compares two independent implementations of protocol 2 on random key logs and rosters.
 * The logs are valid, cut, or have each possible single fault.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLinked } from '../../src/crypto/logs/generations.ts'
import * as first from '../../src/crypto/logs/key-log.ts'
import * as firstRoster from '../../src/crypto/logs/roster.ts'
import { fromBase64url, hex, unhex } from './bytes.ts'
import type { Known } from './chain.ts'
import { agree } from './compare.ts'
import { type KeyLog, summary, verifyKeyLog } from './key-log.ts'
import { faultyKeyLog, KEY_LOG_FAULTS } from './key-log-faults.ts'
import { keyLogHistory } from './key-log-histories.ts'
import { type Random, random } from './random.ts'
import { rosterSummary, verifyRoster } from './roster.ts'
import { faultyRoster, ROSTER_FAULTS } from './roster-faults.ts'
import { rosterHistory } from './roster-histories.ts'
import { hashText } from './signing.ts'

/** More by hand: PROPERTY_RUNS=2000. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 10)

/** Returns a place of the list, or sometimes a missing or different one. */
function randomKnown(of: Random, entries: readonly string[]): Known | null {
  if (of.below(2) === 0) return null
  const seq = of.below(entries.length + 1)
  const entry = entries[seq]
  const head = entry === undefined || of.below(4) === 0 ? of.bytes(32) : hashOf(entry)
  return { seq, head_hex: hex(head) }
}

const hashOf = (entry: string) => fromBase64url(hashText(entry))

/** Returns the same place in the form of the first implementation. */
const firstKnown = (known: Known | null) =>
  known === null ? undefined : { seq: known.seq, head: unhex(known.head_hex) }

/** Returns the result of the first implementation for a key log, in the form of the kit. */
function firstSummary(log: first.KeyLog): ReturnType<typeof summary> {
  const { generation, seq, head, recovery, active } = log
  const generations = Array.from({ length: generation }, (_, at) => at + 1)
  return {
    head_hex: hex(head),
    seq,
    generation,
    linked_to: generations.filter((one) => isLinked(log, one, generation)),
    recovery,
    active: active.map(({ id }) => id),
    seals: Object.fromEntries(active.map(({ id, seal }) => [id, seal])),
  }
}

const agreeOnLog = (account: string, entries: readonly string[], known: Known | null) =>
  agree(
    () => firstSummary(first.verifyKeyLog(account, entries, firstKnown(known))),
    () => summary(verifyKeyLog(account, entries, known)),
    { account, entries, known },
  )

test(`key logs: ${RUNS} random histories, with every single fault`, async () => {
  const of = random('compare key logs')
  const seen = new Set<string>()
  for (let round = 0; round < RUNS; round++) {
    const history = keyLogHistory(of, 1 + of.below(14))
    const { account, entries } = history
    const verdict = await agreeOnLog(account, entries, null)
    assert.ok(verdict.accept)
    // Only long ones have links over several generations.
    const long = keyLogHistory(of, 30)
    assert.ok((await agreeOnLog(long.account, long.entries, null)).accept)
    await agreeOnLog(
      account,
      entries.slice(0, of.below(entries.length + 1)),
      randomKnown(of, entries),
    )
    for (const fault of KEY_LOG_FAULTS) {
      const faulty = faultyKeyLog(history, fault, of)
      if (faulty === null) continue
      const refused = await agreeOnLog(account, faulty.entries, null)
      assert.deepEqual(refused, { accept: false, reason: faulty.reason }, fault)
      seen.add(fault)
    }
  }
  assert.ok(seen.size > KEY_LOG_FAULTS.length / 2, 'histories have place for most faults')
})

test(`rosters: ${RUNS} random histories, with every single fault`, async () => {
  const of = random('compare rosters')
  const seen = new Set<string>()
  for (let round = 0; round < RUNS; round++) {
    const history = rosterHistory(of, 1 + of.below(16))
    const { connection, entries } = history
    const firstLogs = new Map<string, first.KeyLog>()
    const logs = new Map<string, KeyLog>()
    for (const [account, log] of history.logs) {
      firstLogs.set(account, first.verifyKeyLog(account, log))
      logs.set(account, verifyKeyLog(account, log))
    }
    const logOf = (account: string) => logs.get(account)!
    const agreeOn = (texts: readonly string[], known: Known | null) =>
      agree(
        () =>
          summaryOf(
            firstRoster.verifyRoster(connection, texts, firstLogs, firstKnown(known)),
            firstLogs,
          ),
        () => rosterSummary(verifyRoster(connection, texts, known, logOf), logOf),
        { connection, texts, known, logs: [...history.logs] },
      )
    const verdict = await agreeOn(entries, null)
    assert.ok(verdict.accept)
    await agreeOn(entries.slice(0, of.below(entries.length + 1)), randomKnown(of, entries))
    for (const fault of ROSTER_FAULTS) {
      const faulty = faultyRoster(history, fault, of)
      if (faulty === null) continue
      const refused = await agreeOn(faulty.entries, null)
      assert.deepEqual(refused, { accept: false, reason: faulty.reason }, fault)
      seen.add(fault)
    }
  }
  assert.ok(seen.size > ROSTER_FAULTS.length / 2, 'histories have place for most faults')
})

/** Returns the result of the first implementation for a roster, in the form of the kit. */
function summaryOf(
  roster: firstRoster.Roster,
  logs: firstRoster.KeyLogs,
): ReturnType<typeof rosterSummary> {
  const { seq, head, epoch, epochHead, members, rotationPending } = roster
  return {
    head_hex: hex(head),
    seq,
    epoch,
    epoch_head_hex: hex(epochHead),
    members: members.map(({ account, role, generation }) => ({ account, role, generation })),
    rotation_pending: rotationPending,
    held: firstRoster.heldMembers(roster, logs).toSorted(),
    unconfirmed: firstRoster.unconfirmedMembers(roster, logs).toSorted(),
  }
}

/**
 * Compares two independent implementations of protocol 2 on random key logs and rosters.
 * The logs are valid, cut, or have each possible single fault.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as first from '../../src/crypto/logs/key-log.ts'
import * as firstRoster from '../../src/crypto/logs/roster.ts'
import type { Known } from './chain.ts'
import { agree } from './compare.ts'
import { type KeyLog, summary, verifyKeyLog } from './key-log.ts'
import { faultyKeyLog, KEY_LOG_FAULTS } from './key-log-faults.ts'
import { keyLogHistory } from './key-log-histories.ts'
import { random } from './random.ts'
import { rosterSummary, verifyRoster } from './roster.ts'
import { faultyRoster, ROSTER_FAULTS } from './roster-faults.ts'
import { rosterHistory } from './roster-histories.ts'
import {
  firstKeyLogSummary,
  firstKnown,
  firstRosterSummary,
  randomKnown,
} from './first-summaries.ts'

/** More by hand: PROPERTY_RUNS=2000. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 10)

const agreeOnLog = (account: string, entries: readonly string[], known: Known | null) =>
  agree(
    () => firstKeyLogSummary(first.verifyKeyLog(account, entries, firstKnown(known))),
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
          firstRosterSummary(
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

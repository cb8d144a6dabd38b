/**
 * Compares the program with the verifier in Python on random key logs, rosters and profiles.
 * They are valid, cut, with each possible single fault, or with one member of another value.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as first from '../../src/crypto/logs/key-log.ts'
import { replaceProfile } from '../../src/crypto/logs/profile.ts'
import * as firstRoster from '../../src/crypto/logs/roster.ts'
import type { Known } from '../second/chain.ts'
import { type Verdict, verdictOf } from '../second/compare.ts'
import {
  firstKeyLogSummary,
  firstKnown,
  firstRosterSummary,
  randomKnown,
} from '../second/first-summaries.ts'
import { faultyKeyLog, KEY_LOG_FAULTS } from '../second/key-log-faults.ts'
import { keyLogHistory } from '../second/key-log-histories.ts'
import { PROFILES, profile, profileHistory } from '../second/profiles.ts'
import { again, random } from '../second/random.ts'
import { faultyRoster, ROSTER_FAULTS } from '../second/roster-faults.ts'
import { rosterHistory } from '../second/roster-histories.ts'
import { changedStructure } from './changed.ts'
import { Comparison, lacksPython } from './python.ts'

const skip = lacksPython()
/** More by hand: PROPERTY_RUNS=200. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 4)
/** How many entries with a changed member follow each history. */
const CHANGED = 30

describe('the verifier in Python', { skip }, () => {
  test(`agrees on key logs: ${RUNS} random histories, with every single fault`, async () => {
    const [of, comparison] = [random('python key logs'), new Comparison()]
    const ask = async (account: string, entries: readonly string[], known: Known | null) => {
      const verdict = await verdictOf(() =>
        firstKeyLogSummary(first.verifyKeyLog(account, entries, firstKnown(known))),
      )
      comparison.add({ ask: 'key log', account, entries, known }, verdict)
      return verdict
    }
    for (let round = 0; round < RUNS; round++) {
      const history = keyLogHistory(of, 2 + of.below(12))
      const { account, entries, signers } = history
      assert.ok((await ask(account, entries, null)).accept)
      const long = keyLogHistory(of, 30)
      await ask(long.account, long.entries, null)
      await ask(account, entries.slice(0, of.below(entries.length + 1)), randomKnown(of, entries))
      for (const fault of KEY_LOG_FAULTS) {
        const faulty = faultyKeyLog(history, fault, of)
        if (faulty !== null) refusedBy(await ask(account, faulty.entries, null), faulty)
      }
      for (let i = 0; i < CHANGED; i++) {
        const at = of.below(entries.length)
        const text = changedStructure(of, entries[at]!, 'keylog+jws', signers[at]!)
        await ask(account, [...entries.slice(0, at), text], null)
      }
    }
    await comparison.agree()
  })

  test(`agrees on rosters: ${RUNS} random histories, with every single fault`, async () => {
    const [of, comparison] = [random('python rosters'), new Comparison()]
    for (let round = 0; round < RUNS; round++) {
      const history = rosterHistory(of, 2 + of.below(14))
      const { connection, entries, signers } = history
      const logs = new Map<string, first.KeyLog>()
      for (const [account, log] of history.logs) logs.set(account, first.verifyKeyLog(account, log))
      const ask = async (texts: readonly string[], known: Known | null) => {
        const verdict = await verdictOf(() =>
          firstRosterSummary(
            firstRoster.verifyRoster(connection, texts, logs, firstKnown(known)),
            logs,
          ),
        )
        const question = { connection, entries: texts, known, logs: [...history.logs] }
        comparison.add({ ask: 'roster', ...question }, verdict)
        return verdict
      }
      assert.ok((await ask(entries, null)).accept)
      await ask(entries.slice(0, of.below(entries.length + 1)), randomKnown(of, entries))
      for (const fault of ROSTER_FAULTS) {
        const faulty = faultyRoster(history, fault, of)
        if (faulty !== null) refusedBy(await ask(faulty.entries, null), faulty)
      }
      for (let i = 0; i < CHANGED; i++) {
        const at = of.below(entries.length)
        const text = changedStructure(of, entries[at]!, 'roster+jws', signers[at]!)
        await ask([...entries.slice(0, at), text], null)
      }
    }
    await comparison.agree()
  })

  test('agrees on signed profiles, valid and with a single fault', async () => {
    const [of, comparison] = [random('python profiles'), new Comparison()]
    const history = profileHistory(of)
    const log = first.verifyKeyLog(history.account, history.entries)
    for (const kind of PROFILES) {
      const { kept, next, reason } = profile(of, history, kind)
      const verdict = await verdictOf(() => {
        const { device, n, name } = replaceProfile(kept, next, log)
        return [device, n, name]
      })
      assert.equal(verdict.accept ? 'accepted' : verdict.reason, reason, `${kind}, ${again}`)
      const question = { account: history.account, log: history.entries, kept, next }
      comparison.add({ ask: 'profile', ...question }, verdict)
    }
    await comparison.agree()
  })
})

const refusedBy = (
  verdict: Verdict<unknown>,
  { fault, reason }: { fault: string; reason: string },
) => assert.deepEqual(verdict, { accept: false, reason }, `${fault}, ${again}`)

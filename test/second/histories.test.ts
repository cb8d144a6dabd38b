/** Tests the generators against the second implementation itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refused } from './bytes.ts'
import { type KeyLog, summary, verifyKeyLog } from './key-log.ts'
import { faultyKeyLog, KEY_LOG_FAULTS } from './key-log-faults.ts'
import { keyLogHistory } from './key-log-histories.ts'
import { again, random } from './random.ts'
import { rosterSummary, verifyRoster } from './roster.ts'
import { faultyRoster, ROSTER_FAULTS } from './roster-faults.ts'
import { rosterHistory } from './roster-histories.ts'

/**
 * Returns whether enough histories ran: at least 60, and until each fault occurred or 2,000 ran.
 */
const isEnough = (i: number, seen: Set<string>, faults: readonly string[]): boolean =>
  i >= 60 && (seen.size === faults.length || i >= 2000)

test('random key logs are accepted, and rejected with any single fault', () => {
  const of = random('key logs')
  const seen = new Set<string>()
  for (let i = 0; !isEnough(i, seen, KEY_LOG_FAULTS); i++) {
    const history = keyLogHistory(of, 1 + of.below(14))
    const log = verifyKeyLog(history.account, history.entries)
    const found = summary(log)
    const active = history.active.at(-1)!.map(({ id }) => id)
    assert.deepEqual(found.active, active, again)
    for (const fault of KEY_LOG_FAULTS) {
      const faulty = faultyKeyLog(history, fault, of)
      if (faulty === null) continue
      seen.add(fault)
      assertRefused(() => verifyKeyLog(faulty.account, faulty.entries), faulty)
    }
  }
  assert.deepEqual(
    KEY_LOG_FAULTS.filter((fault) => !seen.has(fault)),
    [],
    again,
  )
})

test('random rosters are accepted, and rejected with any single fault', () => {
  const of = random('rosters')
  const seen = new Set<string>()
  for (let i = 0; !isEnough(i, seen, ROSTER_FAULTS); i++) {
    const history = rosterHistory(of, 1 + of.below(16))
    const logs = new Map<string, KeyLog>()
    for (const [account, entries] of history.logs) logs.set(account, verifyKeyLog(account, entries))
    const logOf = (account: string): KeyLog => logs.get(account)!
    const { connection, entries } = history
    const found = rosterSummary(verifyRoster(connection, entries, null, logOf), logOf)
    const members = [...history.seats.at(-1)!].map(([account, seat]) => ({ account, ...seat }))
    assert.deepEqual(found.members, members, again)
    assert.deepEqual([found.epoch, found.rotation_pending], [history.epoch, history.pending], again)
    for (const fault of ROSTER_FAULTS) {
      const faulty = faultyRoster(history, fault, of)
      if (faulty === null) continue
      seen.add(fault)
      assertRefused(() => verifyRoster(connection, faulty.entries, null, logOf), faulty)
    }
  }
  assert.deepEqual(
    ROSTER_FAULTS.filter((fault) => !seen.has(fault)),
    [],
    again,
  )
})

function assertRefused(act: () => unknown, of: { fault: string; reason: string }): void {
  assert.throws(act, (error) => {
    assert.ok(error instanceof Refused, `${of.fault}: ${String(error)}`)
    assert.equal(error.reason, of.reason, `${of.fault}, ${again}`)
    return true
  })
}

/** The generators against the second implementation itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refused } from './bytes.ts'
import { summary, verifyKeyLog } from './key-log.ts'
import { faultyKeyLog, KEY_LOG_FAULTS, keyLogHistory } from './key-log-histories.ts'
import { again, random } from './random.ts'

test('random key logs are accepted, with any single fault they are refused', () => {
  const of = random('key logs')
  const seen = new Set<string>()
  for (let i = 0; i < 60; i++) {
    const history = keyLogHistory(of, 1 + of.below(14))
    const log = verifyKeyLog(history.account, history.entries)
    const found = summary(log)
    const active = history.active.at(-1)!.map(({ id }) => id)
    assert.deepEqual(found.active, active, again)
    for (const fault of KEY_LOG_FAULTS) {
      const faulty = faultyKeyLog(history, fault, of)
      if (faulty === null) continue
      seen.add(fault)
      assert.throws(
        () => verifyKeyLog(faulty.account, faulty.entries),
        (error) => {
          assert.ok(error instanceof Refused, String(error))
          assert.equal(error.reason, faulty.reason, `${fault}, ${again}`)
          return true
        },
      )
    }
  }
  assert.deepEqual(
    KEY_LOG_FAULTS.filter((fault) => !seen.has(fault)),
    [],
    again,
  )
})

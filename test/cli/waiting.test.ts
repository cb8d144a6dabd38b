import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { newWaiting } from '../../src/cli/api.ts'
import { gate } from '../device/enrolled.ts'
import { WAITING } from '../waiting-line.ts'

test('a wait of more than three seconds is reported once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let message = ''
  const stderr = new Writable({
    write: (text: Buffer, _, done) => {
      message += text.toString()
      done()
    },
  })
  const waiting = newWaiting({ stderr })
  for (const [ms, failed, expected] of [
    [2_999, false, ''],
    [3_000, true, WAITING],
    [9_000, false, WAITING],
  ] as const) {
    const answer = gate<number>()
    const waited = waiting(answer.promise)
    t.mock.timers.tick(ms)
    assert.equal(message, expected, `${ms} ms`)
    if (failed) {
      answer.reject(new Error('away'))
      await assert.rejects(waited, /away/)
    } else {
      answer.resolve(ms)
      assert.equal(await waited, ms)
    }
    t.mock.timers.tick(10_000)
    assert.equal(message, expected, 'after the answer')
  }
})

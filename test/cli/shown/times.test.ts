/** Times as people see them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { when, whenOr } from '../../../src/cli/times.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('a time for people', () => {
  // In the local time zone.
  const now = new Date(2026, 10, 28, 22, 15, 30).getTime()
  const cases: [ms: number, shown: string][] = [
    [0, '28 Nov 22:15 (now)'],
    [-400, '28 Nov 22:15 (now)'],
    [-SECOND, '28 Nov 22:15 (1 second ago)'],
    [29 * SECOND, '28 Nov 22:15 (in 29 seconds)'],
    [-59.6 * SECOND, '28 Nov 22:14 (1 minute ago)'],
    [-90 * MINUTE, '28 Nov 20:45 (2 hours ago)'],
    [23.6 * HOUR, '29 Nov 21:51 (in 1 day)'],
    [7 * DAY - SECOND, '5 Dec 22:15 (in 7 days)'],
    [29 * DAY, '27 Dec 22:15 (in 29 days)'],
    [-45 * DAY, '14 Oct 22:15 (2 months ago)'],
    [60 * DAY, '27 Jan 2027 22:15 (in 2 months)'],
    [-364 * DAY, '29 Nov 2025 22:15 (1 year ago)'],
    [-800 * DAY, '19 Sep 2024 22:15 (2 years ago)'],
  ]
  for (const [ms, shown] of cases)
    it(`${ms / 1000} s away: ${shown}`, (t) => {
      const at = new Date(now + ms)
      const isShifted = at.getTimezoneOffset() !== new Date(now).getTimezoneOffset()
      if (isShifted) return t.skip('the clocks change in between')
      assert.equal(when(at.toISOString(), now), shown)
    })

  it('that does not exist is a text of the caller', () => {
    assert.equal(whenOr('never', null), 'never')
    assert.match(whenOr('never', new Date().toISOString()), /\(now\)$/)
  })
})

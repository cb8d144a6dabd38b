/**
 * Tests that any possible history verifies as a model predicts.
 * Any change of a history is refused.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { verifyRoster } from '../../src/crypto/logs/roster.ts'
import { newDevice, sign, type TestDevice } from './builders.ts'
import { byId, connection, history, logs, play } from './histories.ts'

test('any history verifies as the document describes, and forbidden changes are not made', () => {
  fc.assert(
    fc.property(history, (steps) => void play(steps)),
    { numRuns: 100 },
  )
})

const stranger = newDevice()
const refused = (attempt: () => unknown, ...reasons: string[]) =>
  assert.throws(
    attempt,
    (error) => error instanceof Refusal && (reasons.length === 0 || reasons.includes(error.reason)),
  )

/** Returns the same entry at another time, signed by the same device: equally valid. */
function twin(entry: string, change: Partial<TestDevice> = {}): string {
  const text = Buffer.from(entry.split('.')[1]!, 'base64url').toString()
  const payload = JSON.parse(text) as { device: string; at: number }
  const device = { ...byId.get(payload.device)!, ...change }
  return sign('roster+jws', device, { ...payload, at: payload.at + 1 })
}

test('any history with one change is rejected', () => {
  const any = fc.tuple(history, fc.nat(), fc.nat(), fc.nat())
  fc.assert(
    fc.property(any, ([steps, x, y, z]) => {
      const world = play(steps)
      const { entries, seq } = world.roster
      const keyLogs = logs(world)
      const verify = (list: readonly string[], known?: { seq: number; head: Uint8Array }) => () =>
        verifyRoster(connection, list, keyLogs, known)
      const at = x % entries.length
      const entry = entries[at]!

      const altered = entry.split('')
      const place = y % entry.length
      altered[place] = altered[place] === 'A' ? 'B' : 'A'
      refused(verify(entries.with(at, altered.join(''))))
      refused(verify([...entries, entry]), 'duplicate_entry')
      refused(verify(entries.toSpliced(at + 1, 0, entry)), 'duplicate_entry')
      refused(verify([...entries, twin(entry)]), 'roster_forked')
      refused(verify(entries.toSpliced(at + 1, 0, twin(entry))), 'roster_forked')
      const forged = twin(entry, { keys: stranger.keys })
      refused(verify([...entries, forged]), 'bad_signature')
      refused(verify(entries.with(at, forged)), 'bad_signature')

      // A roster that was seen stays: no shorter one and no other one replaces it.
      const seen = { seq: at, head: entryHash(entry) }
      assert.equal(verify(entries, seen)().seq, seq)
      assert.equal(verify(entries.slice(0, at + 1), seen)().seq, at)
      if (at > 0) refused(verify(entries.slice(0, at), seen), 'rollback')
      refused(verify(entries.toSpliced(at, entries.length, twin(entry)), seen), 'roster_forked')
      if (at < seq) {
        refused(verify(entries.toSpliced(at, 1)), 'gap')
        const other = at + 1 + (z % (seq - at))
        refused(verify(entries.with(at, entries[other]!).with(other, entry)), 'gap')
      }
    }),
    { numRuns: 100 },
  )
})

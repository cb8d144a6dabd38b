/**
 * Tests verification while the index of codes is built.
 * A waiting caller gets the answer that is right when the wait is over.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { TestContext } from 'node:test'
import { type AppError } from '../../../src/errors.ts'
import { BOB, MINUTE, WRONG, bench, numbered, slowPace } from '../bench.ts'
import { rejects } from '../../rejects.ts'

const MANY = 120
const ID = numbered('connection', 7)

/**
 * Returns a device that needs several turns before it can answer; the first one is the caller’s.
 */
function slow(t: TestContext, meanwhile: (of: ReturnType<typeof bench>) => void = () => undefined) {
  const first = bench(t)
  first.state.transaction(() => {
    for (let n = 0; n < MANY; n++) first.connection({ id: numbered('connection', n) })
  })
  const { pace, count } = slowPace(0.1, () => {
    if (count.turns === 1) meanwhile(device)
  })
  const device = first.reopen({ pace })
  return { ...device, count }
}

it('the words of a member verify once, after a wait', async (t) => {
  const { verifier, say, count } = slow(t)
  const words = say(ID, BOB)
  const answers = await Promise.all([verifier.verify(words, null), verifier.verify(words, null)])
  assert(count.turns > 5, `${count.turns} turns`)
  assert.deepEqual(
    answers.map(({ verified, replayed, conclusive, checked }) => [
      verified,
      replayed,
      conclusive,
      checked,
    ]),
    [
      [true, false, true, MANY],
      [false, true, true, MANY],
    ],
  )
})

it('of concurrent guesses twenty are answered, and the others are rate-limited', async (t) => {
  const { verifier } = slow(t)
  const guesses = Array.from({ length: 50 }, () => verifier.verify(WRONG, null))
  const ends = await Promise.allSettled(guesses)
  assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 20)
  for (const end of ends)
    if (end.status === 'rejected') assert.equal((end.reason as AppError).code, 'rate_limited')
})

it('an unknown word is rejected without a wait', async (t) => {
  const { verifier, count } = slow(t)
  await rejects('unknown_word', verifier.verify('matador carlod recede', null))
  assert.equal(count.turns, 0)
})

it('after a sign-out meanwhile, a verification is rejected and not logged', async (t) => {
  const { verifier, say, state } = slow(t, ({ session }) => void (session.left = true))
  await rejects('not_signed_in', verifier.verify(say(ID, BOB), null))
  assert.deepEqual(state.verifications.page(9, null), [])
})

for (const [name, meanwhile, verified, reasons] of [
  ['the minute ends', ({ clock }) => void (clock.ms += MINUTE), true, []],
  ['two minutes pass', ({ clock }) => void (clock.ms += 2 * MINUTE), false, []],
  [
    'the connection is suspended',
    ({ connection }) => void connection({ id: ID, hold: 'rotation_pending' }),
    false,
    ['rotation_pending'],
  ],
  [
    'the connection is rotated',
    ({ connection }) => void connection({ id: ID, epoch: 2 }),
    false,
    [],
  ],
  [
    'the connection ends',
    ({ codes, state }) => {
      codes.remove(ID)
      state.connections.delete(ID)
    },
    false,
    [],
  ],
] as [string, (of: ReturnType<typeof bench>) => void, boolean, string[]][])
  it(`${name} meanwhile: ${verified ? 'verified' : 'not verified'}`, async (t) => {
    const { verifier, say } = slow(t, meanwhile)
    const answer = await verifier.verify(say(ID, BOB), null)
    assert.deepEqual([answer.verified, answer.reasons], [verified, reasons])
  })

/**
 * Compares the result of a search with a plain scan by an independent computation.
 * The cases include all changes and movements of the clock.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Hit } from '../../../src/device/codes/codes.ts'
import type { Hold } from '../../../src/state/connections.ts'
import { BOB, CAROL, ME, MINUTE, bench, indicesOf, nameOf, numbered, slowPace } from '../bench.ts'

const whoOf = ({ match, use }: Hit) =>
  `${use.subject} ${use.speaker} ${use.epoch} ${use.window} ${match.speaker} ${match.display_name} ${match.connection_name}`

const Holds = fc.constantFrom<(Hold | null)[]>(
  null,
  null,
  null,
  'rotation_pending',
  'roster_forked',
)
const Step = fc.oneof(
  fc.record({
    kind: fc.constant('connection'),
    n: fc.nat(5),
    others: fc.subarray([BOB, CAROL]),
    epoch: fc.integer({ min: 1, max: 2 }),
    hold: Holds,
    secret: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('guest'), n: fc.nat(3), minutes: fc.nat(5) }),
  fc.record({ kind: fc.constant('remove'), n: fc.nat(5) }),
  fc.record({ kind: fc.constant('end'), n: fc.nat(3) }),
  fc.record({ kind: fc.constant('clock'), minutes: fc.constantFrom(1, 1, 1, 2, -1, 180, -180) }),
  fc.record({ kind: fc.constant('ready'), turns: fc.nat(20) }),
  fc.record({ kind: fc.constant('verify'), drift: fc.integer({ min: -2, max: 2 }) }),
  fc.record({ kind: fc.constant('start') }),
)
type Step = typeof Step extends fc.Arbitrary<infer T> ? T : never

it('the index and a scan return the same after any changes of data and clock', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(Step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const first = bench(t)
      first.state.db.exec('pragma synchronous = off')
      let device = first
      const { clock } = first
      const connections = new Map<string, Extract<Step, { kind: 'connection' }>>()
      const guests = new Map<string, number>()
      const waits: (Promise<void> | null)[] = []

      /** Returns all speakers of these words now, from the recorded changes alone. */
      function scan(words: string): string[] {
        const found: string[] = []
        for (const window of [-1, 0, 1].map((drift) => Math.floor(clock.ms / MINUTE) + drift)) {
          for (const [id, { others, epoch, hold, secret }] of connections)
            if (hold === null && secret)
              for (const speaker of [ME, ...others])
                if (first.say(id, speaker, window) === words)
                  found.push(
                    `${id} ${speaker} ${epoch} ${window} ${speaker === ME ? 'self' : 'other'} ${nameOf(speaker)} Bank`,
                  )
          for (const [id, expiresAt] of guests)
            if (expiresAt > clock.ms)
              for (const speaker of [ME, id])
                if (first.say(id, speaker, window) === words)
                  found.push(
                    `${id} ${speaker} 1 ${window} ${speaker === ME ? 'self' : 'other'} Ann undefined`,
                  )
        }
        return found.toSorted()
      }

      function agree(drift: number): void {
        const suspended = [...connections.values()]
        const lacks = [
          ...(suspended.some(({ hold, secret }) => hold === null && !secret)
            ? ['secret_missing']
            : []),
          ...(['rotation_pending', 'roster_forked'] as const).filter((reason) =>
            suspended.some(({ hold }) => hold === reason),
          ),
        ]
        const unchecked = suspended.filter(({ hold, secret }) => hold !== null || !secret).length
        const live = [...guests.values()].filter((at) => at > clock.ms).length
        const window = Math.floor(clock.ms / MINUTE) + drift
        const valid = [...connections]
          .flatMap(([id, { others }]) => [ME, ...others].map((who) => first.say(id, who, window)))
          .concat([...guests.keys()].map((id) => first.say(id, id, window)))
        for (const words of [...valid, 'matador carload recede']) {
          const found = device.codes.find(indicesOf(words), clock.ms)
          assert.deepEqual(found.hits.map(whoOf).toSorted(), scan(words))
          assert.deepEqual([...found.lacks], lacks)
          assert.deepEqual(
            [found.checked, found.unchecked],
            [connections.size - unchecked + live, unchecked],
          )
        }
      }

      for (const step of steps)
        if (step.kind === 'connection') {
          const id = numbered('connection', step.n)
          connections.set(id, step)
          const { others, epoch, hold } = step
          device.connection({ id, others, epoch, hold })
          if (!step.secret) device.vault.delete(id)
        } else if (step.kind === 'guest') {
          const expiresAt = clock.ms + step.minutes * MINUTE
          guests.set(device.guest({ id: numbered('guest', step.n), expiresAt }), expiresAt)
        } else if (step.kind === 'remove' || step.kind === 'end') {
          const id =
            step.kind === 'end' ? numbered('guest', step.n) : numbered('connection', step.n)
          connections.delete(id)
          guests.delete(id)
          device.codes.remove(id)
          device.state.connections.delete(id)
          device.state.guests.delete(id)
        } else if (step.kind === 'clock') clock.ms += step.minutes * MINUTE
        else if (step.kind === 'ready') {
          waits.push(device.codes.ready(() => clock.ms))
          for (let turn = 0; turn < step.turns; turn++) await Promise.resolve()
        } else if (step.kind === 'verify') agree(step.drift)
        else device = first.reopen({ pace: slowPace(0.4).pace })
      agree(0)
      for (const wait of waits) await wait
    }),
    { numRuns: 100 },
  )
})

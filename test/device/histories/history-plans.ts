/**
 * Plans of histories: the actions of users, thieves and a dishonest account server, step by step.
 */
import fc from 'fast-check'
import { LIES } from './history-lies.ts'

/** Mostly one of the first five devices; those that a reset added follow. */
const device = fc.oneof({ weight: 3, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(7) })
const person = fc.nat(2)
/** Mostly a device of an owner. */
const owner = fc.oneof({ weight: 4, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: device })

const plain = <Do extends string>(what: Do, by = device) => fc.record({ do: fc.constant(what), by })
const about = <Do extends string>(what: Do) =>
  fc.record({ do: fc.constant(what), by: owner, whom: person })

/** Actions that lead to an entry of the roster. */
const signing = fc.oneof(
  about('add'),
  about('remove'),
  about('promote'),
  about('demote'),
  plain('leave'),
  { weight: 2, arbitrary: plain('rotate') },
  plain('lose'),
  about('confirm'),
)
// The devices that are shown a separate history, as the bits of a number.
const split = fc.record({
  do: fc.constant('split'),
  by: fc.nat(4),
  devices: fc.integer({ min: 1, max: 30 }),
})
const step = fc.oneof(
  { weight: 9, arbitrary: signing },
  { weight: 4, arbitrary: plain('sync') },
  fc.record({ do: fc.constant('lied'), by: device, how: fc.constantFrom(...LIES) }),
  plain('later'),
  about('invite'),
  plain('end'),
  plain('renew'),
  fc.record({ do: fc.constant('revoke'), by: device, whom: device }),
  plain('signOut'),
  plain('paper'),
  fc.record({
    do: fc.constant('reset'),
    by: device,
    with: fc.constantFrom('nothing', 'newest paper', 'oldest paper'),
  }),
  plain('theft'),
  split,
  plain('show'),
  fc.record({ do: fc.constant('join'), by: device, second: fc.boolean() }),
)
export type What = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A step, and possibly a crash in it: at a call, before or after that reached the server. */
export interface Step {
  readonly what: What
  readonly crash: { readonly at: number; readonly after: boolean } | null
}

const crash = fc.option(fc.record({ at: fc.integer({ min: 1, max: 8 }), after: fc.boolean() }), {
  freq: 3,
})
const several = (what: fc.Arbitrary<What>, minLength: number, maxLength: number) =>
  fc.array(fc.record({ what, crash }), { minLength, maxLength })

/** Half of the plans have two histories, with entries signed in both. */
export const plans: fc.Arbitrary<Step[]> = fc.oneof(
  several(step, 4, 14),
  fc
    .tuple(
      several(step, 0, 3),
      several(split, 1, 1),
      several(fc.oneof({ weight: 4, arbitrary: signing }, plain('show')), 3, 7),
      several(step, 0, 4),
    )
    .map((parts) => parts.flat()),
)

/** The beginning and the end of a history. */
export interface Frame {
  /** Whether all three people are members before the first step, two of them as owners. */
  readonly full: boolean
  /** Whether the honest server continues with the second of two histories. */
  readonly isSecond: boolean
}

export const frames: fc.Arbitrary<Frame> = fc.record({
  full: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  isSecond: fc.boolean(),
})

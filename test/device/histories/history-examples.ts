/** Histories that every run begins with: each is about one promise of the protocol. */
import type { Frame, Step, What } from './history-plans.ts'

const plan = (...steps: readonly What[]): [Step[], Frame] => [
  steps.map((what) => ({ what, crash: null })),
  { full: true, isSecond: false },
]

/** The same plan, of which the honest server goes on with the second history. */
const withSecond = ([steps, frame]: [Step[], Frame]): [Step[], Frame] => [
  steps,
  { ...frame, isSecond: true },
]

/** Devices 0 and 1 are the first owner's, 2 and 3 the second owner's, 4 the member's. */
export const EXAMPLES: [Step[], Frame][] = [
  // Two owners sign in histories of their own, and the first is shown both.
  plan(
    { do: 'split', by: 0, devices: 0b01100 },
    { do: 'rotate', by: 0 },
    { do: 'rotate', by: 2 },
    { do: 'show', by: 0 },
  ),
  // A member who was removed signs in a history of its own, which an owner is shown.
  plan(
    { do: 'split', by: 0, devices: 0b10000 },
    { do: 'remove', by: 0, whom: 2 },
    { do: 'rotate', by: 4 },
    { do: 'show', by: 2 },
  ),
  // An owner whom one history made a member opens the replacement, and the other history removed
  // somebody: each account has the lowest role that the opener heard of.
  withSecond(
    plan(
      { do: 'split', by: 0, devices: 0b10100 },
      { do: 'remove', by: 3, whom: 2 },
      { do: 'demote', by: 2, whom: 0 },
      { do: 'rotate', by: 2 },
      { do: 'remove', by: 0, whom: 0 },
    ),
  ),
  // A member is removed in the other history after the replacement took it in.
  plan(
    { do: 'split', by: 0, devices: 0b01100 },
    { do: 'rotate', by: 0 },
    { do: 'rotate', by: 2 },
    { do: 'show', by: 0 },
    { do: 'sync', by: 0 },
    { do: 'sync', by: 4 },
    { do: 'sync', by: 0 },
    { do: 'remove', by: 2, whom: 2 },
  ),
  // The same before the replacement took it in.
  withSecond(
    plan(
      { do: 'split', by: 0, devices: 0b01100 },
      { do: 'rotate', by: 0 },
      { do: 'rotate', by: 2 },
      { do: 'show', by: 0 },
      { do: 'remove', by: 2, whom: 2 },
      { do: 'sync', by: 4 },
    ),
  ),
  // Whoever is left in the branch of an owner left the other history: there is nobody to invite.
  withSecond(
    plan(
      { do: 'split', by: 0, devices: 0b11000 },
      { do: 'leave', by: 4 },
      { do: 'remove', by: 2, whom: 0 },
    ),
  ),
  // A thief resets the account of an owner, who undoes it with the recovery key.
  plan(
    { do: 'paper', by: 2 },
    { do: 'sync', by: 0 },
    { do: 'theft', by: 2 },
    { do: 'sync', by: 0 },
    { do: 'reset', by: 2, with: 'newest paper' },
  ),
  // The same at the end, after the thief made a recovery key of his own.
  plan({ do: 'paper', by: 0 }, { do: 'theft', by: 0 }, { do: 'paper', by: 5 }),
  // All devices are lost; the recovery key links the new one.
  plan({ do: 'paper', by: 4 }, { do: 'reset', by: 4, with: 'newest paper' }),
  // A recovery key that was replaced links nothing.
  plan(
    { do: 'paper', by: 2 },
    { do: 'paper', by: 2 },
    { do: 'theft', by: 2 },
    { do: 'reset', by: 2, with: 'oldest paper' },
  ),
  // A device is shown an envelope of an earlier epoch.
  plan(
    { do: 'rotate', by: 0 },
    { do: 'sync', by: 2 },
    { do: 'rotate', by: 0 },
    { do: 'lied', by: 2, how: 'envelopes' },
  ),
  // The consent of somebody who was removed is shown again.
  plan(
    { do: 'remove', by: 0, whom: 2 },
    { do: 'invite', by: 0, whom: 2 },
    { do: 'lied', by: 0, how: 'consents' },
  ),
  // Entries are kept back, or come twice.
  plan(
    { do: 'rotate', by: 2 },
    { do: 'lied', by: 0, how: 'entries' },
    { do: 'lied', by: 0, how: 'withheld' },
  ),
  // A thief resets the account of an owner, and gets no secret from those who do not know the keys.
  plan(
    { do: 'theft', by: 2 },
    { do: 'sync', by: 0 },
    { do: 'sync', by: 5 },
    { do: 'rotate', by: 0 },
    { do: 'sync', by: 5 },
  ),
]

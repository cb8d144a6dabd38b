/** Histories that every run begins with. Each one covers one guarantee of the protocol. */
import type { Frame, Step, What } from './history-plans.ts'

const plan = (...steps: readonly What[]): [Step[], Frame] => [
  steps.map((what) => ({ what, crash: null })),
  { full: true, isSecond: false },
]

/** Returns the same plan with the second history for the honest server to continue. */
const withSecond = ([steps, frame]: [Step[], Frame]): [Step[], Frame] => [
  steps,
  { ...frame, isSecond: true },
]

/** Devices 0 and 1 are the first owner’s, 2 and 3 the second owner’s, 4 the member’s. */
export const EXAMPLES: [Step[], Frame][] = [
  // Two owners sign in separate histories, and the first is shown both.
  plan(
    { do: 'split', by: 0, devices: 0b01100 },
    { do: 'rotate', by: 0 },
    { do: 'rotate', by: 2 },
    { do: 'show', by: 0 },
  ),
  // A removed member signs in a separate history, which an owner is shown.
  plan(
    { do: 'split', by: 0, devices: 0b10000 },
    { do: 'remove', by: 0, whom: 2 },
    { do: 'rotate', by: 4 },
    { do: 'show', by: 2 },
  ),
  // An owner who is a member in one history opens the replacement, and the other history removed
  // an account.
  // Each account gets the lowest role that the opener has seen.
  withSecond(
    plan(
      { do: 'split', by: 0, devices: 0b10100 },
      { do: 'remove', by: 3, whom: 2 },
      { do: 'demote', by: 2, whom: 0 },
      { do: 'rotate', by: 2 },
      { do: 'remove', by: 0, whom: 0 },
    ),
  ),
  // The other history removes a member after the replacement added that member.
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
  // The same before the replacement added the member.
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
  // All accounts in an owner’s branch left the other history, so there is no account to invite.
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
  // The same at the end, after the thief made another recovery key.
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
  // The consent of a removed account is shown again.
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
  // A thief resets the account of an owner, and gets no secret from members who have not
  // confirmed the keys.
  plan(
    { do: 'theft', by: 2 },
    { do: 'sync', by: 0 },
    { do: 'sync', by: 5 },
    { do: 'rotate', by: 0 },
    { do: 'sync', by: 5 },
  ),
]

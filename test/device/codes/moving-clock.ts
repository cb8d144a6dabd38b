/** A device with a wall clock that a test sets independently of the uptime of the machine. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { timeAt } from '../../../src/api/fields.ts'
import type { ClockSource } from '../../../src/device/codes/clock.ts'
import { wordsFrom } from '../../e2e/peer.ts'
import { MINUTE } from '../bench.ts'
import { type Enrolled, enrolled } from '../enrolled.ts'

export const SPAN = 10 * MINUTE
export const WRONG = 'matador carload recede'

/** Adds a guest to a device; returns the words of the guest at a time. */
export async function guestOf(device: Enrolled) {
  const subject = await device.invite()
  const k = device.vault.get(subject) as Uint8Array
  return (at: number) =>
    wordsFrom({ label: 'guest', k, subject, speaker: subject, window: Math.floor(at / MINUTE) })
}

/** Sets the wall clock; the uptime is unchanged. */
export const set = ({ clock }: Enrolled, ms: number) => {
  clock.ms += ms
  clock.set += ms
}
/** Turns the machine off for a while; its uptime starts again. */
export const restart = ({ clock }: Enrolled, offMs: number) => {
  clock.ms += offMs
  clock.set = clock.ms
  clock.boot = 'boot-2'
}
/** Moves the state folder to a machine with this uptime, in milliseconds. */
export const moveState = ({ clock }: Enrolled, ranMs: number) => {
  clock.set = clock.ms - ranMs
  clock.boot = 'boot-of-another-machine'
}
/** Advances the time. */
export const pass = ({ clock }: Enrolled, ms: number) => {
  clock.ms += ms
}

/** Returns a device of a remote account server with the right time, after a successful sync. */
export async function far(t: TestContext) {
  const device = await enrolled(t)
  // The server’s time follows the uptime of the machine, not its wall clock.
  const server: ClockSource = {
    read: async () => ({
      now: timeAt(device.clock.ms - device.clock.set),
      public_url: 'https://countersign.test',
    }),
  }
  const wordsAt = await guestOf(device)
  const open = () => device.reopen({}, server)
  const first = open()
  assert((await first.sync.run('start')).ok)
  return { open, first, wordsAt }
}

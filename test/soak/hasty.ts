/**
 * Loaded before the program (`node --import`): shortens its long waits, so that a test need not
 * sit through them. Their meaning is unchanged: half a minute for an answer is three seconds
 * here.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import type * as Timers from 'node:timers/promises'

const SHORTER = 10
const LONG_MS = 200
/** The limit for a connection, which takes its time on a busy machine. */
const CONNECT_MS = 5_000

const shortened = (ms = 0) => (ms >= LONG_MS && ms !== CONNECT_MS ? ms / SHORTER : ms)

const real = globalThis.setTimeout
globalThis.setTimeout = Object.assign(
  (call: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
    real(call, shortened(ms), ...args),
  real,
) as typeof setTimeout

const timers = createRequire(import.meta.url)('node:timers/promises') as typeof Timers
const wait = timers.setTimeout
Object.assign(timers, {
  setTimeout: (ms?: number, value?: unknown, options?: { signal?: AbortSignal; ref?: boolean }) =>
    wait(shortened(ms), value, options),
})
syncBuiltinESMExports()

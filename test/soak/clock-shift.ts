/**
 * Loaded before the program (`node --import`): gives it a clock that can be set. At its start and
 * at SIGUSR2 the clock gets the offset in CLOCK_FILE, in milliseconds; at SIGUSR2 the number of
 * timers set since the last time goes to standard error.
 */
import { existsSync, readFileSync } from 'node:fs'

const Real = Date
const FILE = process.env['CLOCK_FILE'] as string
const offsetIn = () => (existsSync(FILE) ? Number(readFileSync(FILE, 'utf8')) : 0)
let offset = offsetIn()
let timers = 0
const now = () => Real.now() + offset

globalThis.Date = new Proxy(Real, {
  construct: (target, args) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args) as object,
  apply: () => new Real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
})

const set = globalThis.setTimeout
globalThis.setTimeout = Object.assign(
  (call: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    timers++
    return set(call, ms, ...args)
  },
  set,
) as typeof setTimeout

process.on('SIGUSR2', () => {
  offset = offsetIn()
  process.stderr.write(`${JSON.stringify({ event: 'clock set', offset, timers })}\n`)
  timers = 0
})

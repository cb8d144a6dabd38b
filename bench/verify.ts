/**
 * Measures the check of three words with 10, 1,000 and 100,000 connections: processor time of the
 * verifier, in this process, in alternation. The words are the user's own, which are checked and
 * logged like all others, and are no wrong attempt.
 *
 *   node bench/verify.ts
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId } from '../src/crypto/encoding/id.ts'
import { newChallenges } from '../src/device/codes/challenges.ts'
import { openCodes } from '../src/device/codes/codes.ts'
import { newGuesses } from '../src/device/codes/rate-limit.ts'
import { newVerifier } from '../src/device/codes/verifier.ts'
import { openVault } from '../src/device/identity/vault.ts'
import { openState } from '../src/state/state.ts'
import { memoryKeychain } from '../test/keychain/memory.ts'
import { fillConnections } from './connections.ts'
import { median, say } from './figures.ts'

const SIZES = [10, 1_000, 100_000]
const ROUNDS = 7
const CHECKS = 500

/** Opens the verifier of a device with this many connections. */
function opened(size: number) {
  const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const state = openState(stateDir)
  const own = newId('acc_', Date.now())
  const vault = openVault(memoryKeychain(), state.secrets)
  const ids = fillConnections(state, vault, own, size)
  const codes = openCodes(state, vault, own)
  const [now, boot] = [Date.now, null]
  const uptime = { exact: () => performance.now(), recent: () => performance.now() }
  const verifier = newVerifier({
    state,
    codes,
    account: own,
    now,
    guesses: newGuesses({ rows: state.wrongTries, uptime, boot }),
    challenges: newChallenges({ state, now, uptime, boot }),
    freshness: {
      offsetMs: () => 0,
      lastSyncAt: now,
      refresh: async () => undefined,
      clock: () => 'steady',
      noted: () => undefined,
    },
    requireSession: () => undefined,
  })
  return {
    check: async (n: number) => {
      const words = codes.toSay(ids[n % ids.length] as string, now())?.words ?? ''
      const { echo } = await verifier.verify(words, 'tok_bench')
      if (!echo) throw new Error('The own words were not found.')
    },
    close() {
      state.close()
      rmSync(stateDir, { recursive: true })
    },
  }
}

/** Returns the processor time of one check in a round of checks, in microseconds. */
async function round({ check }: ReturnType<typeof opened>): Promise<number> {
  const before = process.threadCpuUsage()
  for (let n = 0; n < CHECKS; n++) await check(n)
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / CHECKS
}

const devices = SIZES.map(opened)
const times: number[][] = SIZES.map(() => [])
try {
  for (const device of devices) await round(device)
  for (let turn = 0; turn < ROUNDS; turn++)
    for (const [index, device] of devices.entries()) times[index]?.push(await round(device))
} finally {
  for (const device of devices) device.close()
}
const [smallest = NaN, ...others] = times.map(median)
for (const [index, time] of others.entries())
  say(
    `CPU of a check of words with ${SIZES[index + 1]} connections ÷ ${SIZES[0]}: ${(time / smallest).toFixed(2)}  (${time.toFixed(0)} µs ÷ ${smallest.toFixed(0)} µs)`,
  )
// The codes of the minutes to come would be prepared forever.
process.exit()

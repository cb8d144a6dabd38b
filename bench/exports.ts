/**
 * Measures how long the building of an export stalls other requests. The account has 100,000
 * entries in its verification log, on SQLite, where every query uses the thread that answers
 * requests. It fails on a stall of more than 20 ms.
 *
 *   node bench/exports.ts [ENTRIES]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import type { Account } from '../src/api/port.ts'
import { fillLog } from '../test/service/log-rows.ts'
import { enrol } from '../test/service/person.ts'
import { openSubject } from '../test/service/subject.ts'

const STALL_MS = 20
/** The sampling interval of the event loop; sampling adds as much to a measured stall. */
const RESOLUTION_MS = 1

const say = (text: string) => process.stdout.write(`${text}\n`)
const ms = (nanoseconds: number) => (nanoseconds / 1e6).toFixed(1)

type Delay = ReturnType<typeof monitorEventLoopDelay>

const report = (what: string, delay: Delay) =>
  say(
    `${what}: longest stall ${ms(delay.max)} ms, 99 of 100 below ${ms(delay.percentile(99))} ms, median ${ms(delay.percentile(50))} ms`,
  )

/** Waits for the newest export. Returns its size in bytes. */
async function built({ exports }: Pick<Account, 'exports'>): Promise<number | null> {
  for (;;) {
    const { state, error, size_bytes } = (await exports.list({})).items[0]!
    if (state === 'ready') return size_bytes
    if (state === 'failed') throw new Error(String(error))
    await setTimeout(20)
  }
}

async function main(entries: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const file = join(folder, 'account.db')
  const subject = await openSubject({ url: null, file }, { ms: Date.now() })
  try {
    const ada = await enrol(subject.server)
    fillLog(file, ada.id, entries, Date.now())
    const as = (id: string) =>
      subject.service.as({ account: id, device: null, session: null, token: null })

    // An export of another account first, so that modules are loaded, and the idle loop for
    // comparison.
    const bob = await enrol(subject.server)
    const other = as(bob.id)
    await other.exports.create({})
    await built(other)
    const rest = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    rest.enable()
    await setTimeout(1000)
    rest.disable()
    report('At rest', rest)

    const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    delay.enable()
    const began = performance.now()
    const account = as(ada.id)
    await account.exports.create({})
    const size = await built(account)
    const took = performance.now() - began
    delay.disable()
    report(`Building of ${entries} entries in ${(took / 1000).toFixed(1)} s, ${size} bytes`, delay)

    const deleting = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    deleting.enable()
    await account.exports.clear({})
    await setTimeout(50)
    deleting.disable()
    report('Deleting', deleting)
    if (Math.max(delay.max, deleting.max) / 1e6 > STALL_MS + RESOLUTION_MS) process.exitCode = 1
  } finally {
    await subject.close()
    rmSync(folder, { recursive: true })
  }
}

await main(Number(process.argv[2] ?? 100_000))

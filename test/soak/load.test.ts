/**
 * A crowd at a running daemon: many connections at once, ordinary requests of all kinds with some
 * hostile ones, and beside them clients that are idle, write slowly or read slowly. Every answer
 * is checked against its request. The times are reported beside those of bare node:http for the
 * same crowd, and never judged.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { caller, listed } from '../e2e/caller.ts'
import { type DaemonProcess, peakMib, rssMib, settledMib, startProcess } from './daemon-process.ts'
import type { Job, ClientReport } from './load-client.ts'
import type { Given } from './load-crowd.ts'
import { sized } from './size.ts'

const CROWD: Omit<Job, 'port' | 'judges'> = {
  people: sized(60, 500),
  seconds: sized(3, 60),
  pauseMs: sized(150, 1000),
  idle: sized(40, 200),
  slowMs: { writer: sized(4, 10), reader: sized(5, 40) },
}
/** The number of measurements of an idle server’s memory, two each second. */
const LOOKS = sized(1, 20)

interface Measured {
  readonly answer: ClientReport
  readonly mib: { readonly before: number; readonly peak: number; readonly after: number }
}

/** Starts a program of this folder, with an IPC channel to it. */
function started(name: string): ChildProcess {
  const { PATH, HOME } = process.env
  const child = fork(join(import.meta.dirname, name), { env: { PATH, HOME }, execArgv: [] })
  const orphan = () => child.kill('SIGKILL')
  process.once('exit', orphan)
  child.once('exit', () => process.off('exit', orphan))
  return child
}

async function tell<T>(child: ChildProcess, what: object): Promise<T> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`it ended: ${code}`)))
  const message = once(child, 'message')
  child.send(what)
  const [answer] = (await Promise.race([message, ended])) as [T]
  ended.catch(() => undefined)
  return answer
}

/** Sends the crowd to a server, and measures the server’s memory meanwhile. */
async function measure(pid: number, port: number, judges: boolean): Promise<Measured> {
  const rss = rssMib(pid)
  // Resets the process’s peak memory to its present memory (proc(5)).
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const answer = await tell<ClientReport>(started('load-client.ts'), { ...CROWD, port, judges })
  const peak = peakMib(pid)
  const server = { pid, address: `http://127.0.0.1:${port}` }
  return { answer, mib: { before: rss, peak, after: await settledMib(server, rss * 1.1, LOOKS) } }
}

async function measureBare(given: Readonly<Record<string, Given>>): Promise<Measured> {
  const bare = started('load-bare.ts')
  const gone = once(bare, 'exit')
  try {
    return await measure(bare.pid as number, await tell<number>(bare, given), false)
  } finally {
    bare.disconnect()
    await gone
  }
}

const HERE = process.platform === 'linux' ? false : 'the memory of a process is read from /proc'

describe('many clients at a running daemon', { skip: HERE }, () => {
  let daemon: DaemonProcess
  let ours: Measured
  let bare: Measured

  before(async () => {
    daemon = await startProcess()
    ours = await measure(daemon.pid, Number(new URL(daemon.address).port), true)
    bare = await measureBare(ours.answer.given)
  })
  after(() => daemon?.close())

  it('no answer is wrong, or another client’s', () => {
    const { wrong } = ours.answer
    assert.equal(wrong.slice(0, 20).join('\n'), '', `${wrong.length} wrong answers`)
  })

  it('no error is logged behind an answer', () =>
    assert.deepEqual(daemon.errors().slice(0, 10), []))

  it('written objects exist, and deleted ones do not', async () => {
    const call = caller(daemon.address, await daemon.token('write'))
    const { tags, connections } = ours.answer.left
    const found = await listed(call, '/api/v1/tags')
    assert.deepEqual(new Set(found.map(({ id }) => id)), new Set(tags))
    const open = await listed(call, '/api/v1/connections')
    assert.deepEqual(Object.fromEntries(open.map(({ id, name }) => [id, name])), connections)
    const guests = await listed(call, '/api/v1/guest-codes')
    assert.deepEqual(
      guests.filter(({ state }) => state !== 'revoked'),
      [],
    )
  })

  it('slow, silent and hostile clients take part', (t: TestContext) => {
    const { slow, idle, kinds } = ours.answer
    const hostile = Object.entries(kinds)
      .filter(([kind]) => kind.startsWith('hostile'))
      .reduce((sum, [, { count }]) => sum + count, 0)
    t.diagnostic(`${hostile} hostile requests; ${idle}`)
    t.diagnostic(`${slow.written} requests written slowly, ${slow.read} answers read slowly`)
    assert(hostile > 0)
    assert(slow.written > 0)
    assert(slow.read > 0)
  })

  it('reports its latency, beside bare node:http', (t: TestContext) => {
    const shown = (ms: number) => `${ms.toFixed(1)} ms`
    t.diagnostic(
      `${CROWD.people} connections, each asks ${CROWD.pauseMs} ms after its last answer, for ${CROWD.seconds} s`,
    )
    for (const [name, { answer, mib }] of Object.entries({ ours, bare })) {
      const { opening } = answer
      const { count, p50, p99, longest } = answer.all
      const rate = (count / answer.seconds).toFixed(0)
      t.diagnostic(
        `${name}: ${count} requests (${rate}/s), p50 ${shown(p50)}, p99 ${shown(p99)}, longest ${shown(longest)}; ` +
          `of them ${opening.count} over a new connection, p99 ${shown(opening.p99)}; ` +
          `resident ${mib.before.toFixed(0)} MiB before, ${mib.peak.toFixed(0)} at most, ${mib.after.toFixed(0)} after; ` +
          `the crowd itself was held up by ${shown(answer.heldUpMs)} (p99)`,
      )
    }
    const slowest = Object.entries(ours.answer.kinds)
      .toSorted(([, a], [, b]) => b.p99 - a.p99)
      .slice(0, 5)
      .map(([kind, { count, p99 }]) => `${kind} (${count}) ${shown(p99)}`)
    t.diagnostic(`ours, the longest by p99: ${slowest.join(', ')}`)
    assert.deepEqual(bare.answer.wrong, [])
    // Both received the same requests.
    assert(bare.answer.all.count > 0)
  })
})

/**
 * The floods, at a daemon in a process of its own: it answers other clients, keeps its memory
 * bounded, and ends on request.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sized } from '../soak/size.ts'
import { startChild } from './child.ts'
import { FLOODS, MOST_MIB, flood, floodChunks, leaveRows, rssOf } from './floods.ts'
import { openIdle } from './slow.ts'
import { isWell } from './wire.ts'

const ROWS = sized(0, 27_000)
const HONEST = 300
/**
 * The number of honest answers during a flood of chunks: before chunks were paced, one or two.
 */
const HONEST_MEANWHILE = 10

/** In CI, as many requests as one read holds, and no rows of ended connections. */
const part = sized(10, 1)

for (const asked of FLOODS)
  it(`${asked.connections} × ${asked.requests / part} unread requests to ${asked.path}`, async (t) => {
    const daemon = await startChild()
    const { pid } = daemon
    const at = asked.listener === 'api' ? daemon.address : daemon.accountAddress
    t.after(() => daemon.kill())
    await leaveRows(ROWS)
    const flooding = await flood(at, { ...asked, requests: asked.requests / part })
    t.after(flooding.end)
    const took: number[] = []
    let mib = 0
    let beside = 0
    for (let i = 0; i < HONEST; i++) {
      const from = performance.now()
      assert.equal(await isWell(at), null)
      // Later the server may close connections with unread answers.
      if (flooding.open() === asked.connections) beside++
      took.push(performance.now() - from)
      if (process.platform === 'linux') mib = Math.max(mib, rssOf(pid))
    }
    assert(beside > 0, 'no request was answered while the flood was open')
    assert(mib < MOST_MIB, `${mib} MiB resident`)
    const from = performance.now()
    assert.deepEqual(await daemon.end(), [0, null])
    const ms = took.toSorted((a, b) => a - b)
    t.diagnostic(
      `${beside} of ${HONEST} beside the flood; /health p50 ${ms[HONEST / 2]!.toFixed(1)} ms, p99 ${ms[HONEST * 0.99]!.toFixed(1)} ms; ` +
        `at most ${Math.round(mib)} MiB; ended after ${Math.round(performance.now() - from)} ms`,
    )
  })

it('more silent connections than the limit of a listener', async (t) => {
  const daemon = await startChild()
  t.after(() => daemon.end())
  for (const address of [daemon.address, daemon.accountAddress]) {
    t.after(await openIdle(address))
    for (let i = 0; i < 20; i++) assert.equal(await isWell(address), null)
  }
})

it('20 bodies of 60,000 chunks of one byte', { skip: process.platform !== 'linux' }, async (t) => {
  const daemon = await startChild()
  t.after(() => daemon.end())
  const { waiting, end } = floodChunks(daemon.accountAddress, { connections: 20, chunks: 60_000 })
  t.after(end)
  let mib = 0
  let answered = 0
  while (waiting() > 0) {
    assert.equal(await isWell(daemon.accountAddress), null)
    answered++
    mib = Math.max(mib, rssOf(daemon.pid))
  }
  t.diagnostic(`at most ${Math.round(mib)} MiB, ${answered} honest answers meanwhile`)
  assert(answered >= HONEST_MEANWHILE, `${answered} honest answers while the bodies were received`)
  assert(mib < MOST_MIB, `${mib} MiB resident`)
})

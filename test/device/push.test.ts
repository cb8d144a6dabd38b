/** What a sync hands over: every late stamp, whatever becomes of one among them, and each refusal heard once. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { newId } from '../../src/crypto/id.ts'
import { AppError, type Code } from '../../src/errors.ts'
import { T0 } from './bench.ts'
import { enrolled } from './enrolled.ts'

const MANY = 1200

/** A device with stamps that have no receipt yet, and an account that answers to them as it is told to. */
async function late(t: TestContext) {
  const device = await enrolled(t)
  const ids = Array.from({ length: MANY }, (_, at) => newId('stm_', T0 + at))
  device.state.transaction(() => {
    for (const id of ids)
      device.state.stamps.insert({ id, jws: `jws ${id}`, receipt: null, created_at: T0 })
  })
  /** What the account answers to a stamp in the place of a receipt. */
  const refusals = new Map<string, Code>()
  const asked: string[] = []
  const create = async ({ body: { stamp } }: { body: { stamp: string } }) => {
    const id = stamp.slice('jws '.length)
    asked.push(id)
    const code = refusals.get(id)
    if (code !== undefined) throw new AppError(code, 'No receipt.')
    return { receipt: `receipt ${id}` }
  }
  const open = () => device.reopen({ stamps: { create } })
  return {
    ids,
    refusals,
    /** One sync, as after another start: its report, and which stamps it asked for. */
    sync: async () => {
      asked.length = 0
      const report = await open().sync.run('timer')
      return { report, asked: [...asked] }
    },
    without: () => device.state.stamps.withoutReceipt(-1).map(({ id }) => id),
    stamp: (id: string) => device.state.stamps.get(id)?.jws,
  }
}

describe('late stamps', () => {
  it('all of them in one sync', async (t) => {
    const { ids, sync, without } = await late(t)
    const { report, asked } = await sync()
    assert.deepEqual([report.ok, report.error, asked], [true, null, ids])
    assert.deepEqual(without(), [])
    assert.deepEqual((await sync()).asked, [])
  })

  for (const code of ['validation_failed', 'conflict'] as const)
    it(`${code} in the middle: told, kept, never asked again, and in nobody's way`, async (t) => {
      const { ids, refusals, sync, without, stamp } = await late(t)
      const bad = ids[600] as string
      refusals.set(bad, code)
      const { report, asked } = await sync()
      assert.deepEqual(asked, ids)
      assert.equal(report.ok, false)
      assert.match(report.error ?? '', new RegExp(`refused a stamp \\(${bad}\\)`))
      assert.deepEqual([without(), stamp(bad)], [[bad], `jws ${bad}`])
      const next = await sync()
      assert.deepEqual([next.report.ok, next.report.error, next.asked], [true, null, []])
    })

  it('more refused than fit a page: all others get through, and the number is told', async (t) => {
    const { ids, refusals, sync, without } = await late(t)
    for (const id of ids.slice(0, 700)) refusals.set(id, 'conflict')
    const { report, asked } = await sync()
    assert.deepEqual(asked, ids)
    assert.match(report.error ?? '', /refused 700 stamps \((stm_\w+, ){5}…\)/)
    assert.deepEqual(without(), ids.slice(0, 700))
    assert.deepEqual((await sync()).asked, [])
  })

  for (const code of ['backend_unavailable', 'backend_timeout', 'rate_limited'] as const)
    it(`${code} in the middle: the sync stops there, and the next goes on`, async (t) => {
      const { ids, refusals, sync, without } = await late(t)
      const [bad, away] = [ids[100] as string, ids[700] as string]
      refusals.set(bad, 'validation_failed').set(away, code)
      const { report, asked } = await sync()
      assert.deepEqual(asked, ids.slice(0, 701))
      assert.equal(report.ok, false)
      assert.match(report.error ?? '', /refused a stamp .*No receipt\./)
      assert.deepEqual(without(), [bad, ...ids.slice(700)])
      refusals.delete(away)
      const next = await sync()
      assert.deepEqual([next.report.ok, next.asked], [true, ids.slice(700)])
      assert.deepEqual(without(), [bad])
    })
})

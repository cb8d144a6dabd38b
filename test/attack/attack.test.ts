/**
 * The attack table in CI size: a part of each attack, with a turn for each route. `npm run
 * attack` runs all of it.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { type Drill, ROWS } from './attack.ts'
import { ATTACKS, DRILLS } from './attacks.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { onlySocket } from './child.ts'
import { slow } from './slow.ts'
import { TABLES, nameOf } from './routes.ts'
import { type Fault, type Report, planSome, run } from './run.ts'
import { type Scene, newScene } from './scene.ts'
import { standIn } from './stand-in.ts'

/** Attacks one route of this many. */
const NTH = 37
/** Over the socket, most is the same code. */
const NTH_OF_SOCKET = 331

/** Only the mode differs over a socket. */
const SOCKET_DRILLS = DRILLS.filter(({ row }) => row === 'Other local users')

const shown = ({ row, attack, target, why, got }: Fault) =>
  `${row} · ${attack} · ${target}: ${why}; got ${got.slice(0, 300)}`

describe('every row of the table at the routes it applies to', () => {
  let daemon: TestDaemon
  let scene: Scene
  let report: Report
  before(async () => {
    daemon = await startDaemon()
    scene = await newScene(daemon)
    report = await run(scene, planSome(ATTACKS, scene.targets, NTH), DRILLS)
  })
  after(() => daemon.close())

  for (const row of ROWS)
    it(`${row}: rejected as specified`, (t) => {
      const { sent, faults } = report.get(row)!
      assert(sent > 0)
      assert.deepEqual(faults.slice(0, 5).map(shown), [], `${faults.length} of ${sent}`)
      t.diagnostic(`${sent} requests`)
    })

  it('every route was attacked', () => {
    const tried = new Set([...report.values()].flatMap(({ targets }) => [...targets]))
    assert.deepEqual(
      scene.targets.map(nameOf).filter((name) => !tried.has(name)),
      [],
    )
    assert(tried.size > 250)
  })
})

describe('the API on a Unix socket alone', { skip: process.platform === 'win32' }, () => {
  it('rejects every row, at a part of the routes', async (t) => {
    const folder = freshFolder(t)
    const daemon = await startDaemon(onlySocket(folder))
    t.after(() => daemon.close())
    const scene = await newScene(daemon)
    const report = await run(scene, planSome(ATTACKS, scene.targets, NTH_OF_SOCKET), SOCKET_DRILLS)
    const faults = [...report.values()].flatMap((result) => result.faults)
    assert.deepEqual(faults.slice(0, 5).map(shown), [])
  })
})

it('a client that stops in the middle of a request to any route gets 408, and is disconnected', async (t) => {
  const timeouts = { headers: 300, request: 600, silence: 60_000 }
  const scene = await standIn(TABLES, { timeouts })
  t.after(() => scene.close())
  const { sent, faults } = await (slow satisfies Drill).run(scene)
  assert.deepEqual(faults.slice(0, 5), [])
  assert(sent > 400)
})

/**
 * A full or failing disk under a daemon: clear messages, no loss of acknowledged writes, no
 * crash, and recovery without help.
 */
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { terminal } from '../cli/terminal.ts'
import { ask } from '../e2e/caller.ts'
import { until } from '../until.ts'
import { WRITES, requireBearing, requireExport, requireWell, populated } from './disk-bearing.ts'
import { check } from './ledger.ts'
import { started } from './lives.ts'
import { sized } from './size.ts'
import { failingDisk, noFailingDisk, noSmallDisk, smallDisk } from './small-disk.ts'
import { follow } from './trail.ts'
import { requireWhole, ownerOf } from './whole.ts'
import type { Writing } from './writers.ts'

const DISK = 8 << 20
const KIB = 1024
/** More requests than the files can absorb before they need room on the disk. */
const MANY = 1500

/** Asserts that another daemon over the same folder has all data and stops normally. */
async function requireLives(
  t: TestContext,
  dir: string,
  { stage, ledger }: Writing,
): Promise<void> {
  const daemon = await started(t, dir)
  const { address, accountAddress } = daemon
  const next = { ...stage, address, accountAddress, owner: ownerOf(dir) }
  await requireWell(next)
  await check(next, Object.assign(ledger, { locales: ['de'] }))
  requireWhole(dir)
  assert.equal(await daemon.end('SIGTERM'), 0, daemon.log())
}

describe('a full disk', { skip: noSmallDisk }, () => {
  /** From nothing to more than a first start writes (1.4 MiB, most of it a write-ahead log). */
  const rooms = Array.from({ length: sized(6, 48) }, (_, i) => i * sized(512, 64) * KIB)
  it('at the first start: works or reports it; with space it works', async (t) => {
    let refused = 0
    for (const room of rooms) {
      const disk = smallDisk(t, 4 << 20)
      disk.fill(room)
      const run = terminal(disk.stateDir)
      const { code, err } = await run(['guest', 'list'])
      if (code !== EXIT.ok) {
        refused++
        assert.equal(code, EXIT.failed, err)
        assert.match(err, /^countersignd: .*disk.*full/i, `with ${room} bytes`)
      }
      disk.free()
      const again = await run(['guest', 'list'])
      assert.equal(again.code, EXIT.ok, again.err)
      requireWhole(disk.stateDir)
    }
    t.diagnostic(`${rooms.length} starts, ${refused} refused`)
    assert(refused > 0 && refused < rooms.length)
  })

  it('under a daemon, repeatedly: it continues without a restart; killed then, nothing is lost', async (t) => {
    const disk = smallDisk(t, DISK)
    const trail = follow(t)
    const { daemon, of } = await populated(t, disk.stateDir)
    const { stage, ledger } = of
    /** Earlier answers have their lines, also those that had to wait for room. */
    const fill = async (butFor = 0) => {
      await until('the lines of earlier answers', () => trail.demand(disk.stateDir, 0) === 0)
      disk.fill(butFor)
      return trail.now()
    }
    const refused = new Set<string>()
    let waited = 0
    for (let round = 0; round < sized(1, 12); round++) {
      const full = await fill(of.chance.below(3) * 16 * KIB)
      // Uses up the free space inside the files of the databases and the audit log.
      for (let n = 0, isFull = false; n < MANY && !isFull; n++) {
        const name = 'm'.repeat(90)
        const answer = await ask(stage.address, stage.token, 'POST /api/v1/external-members', {
          display_name: name,
          note: name.repeat(20),
        })
        isFull = answer.status === 507 && trail.demand(disk.stateDir, full) > 0
      }
      for (const request of await requireBearing(stage)) refused.add(request)
      // A failed operation is done once when it is repeated.
      const key = `key-${round}`
      const keyed = () =>
        fetch(`${stage.address}/api/v1/connections`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${stage.token}`,
            'Content-Type': 'application/json',
            'Idempotency-Key': key,
          },
          body: JSON.stringify({ name: key }),
        })
      const { status } = await keyed()
      assert([201, 507].includes(status), String(status))
      ledger.keyed.set(key, null)
      waited += trail.demand(disk.stateDir, full)
      disk.free()
      await requireWell(stage)
      await check({ ...stage }, Object.assign(ledger, { locales: ['de'] }))
      requireWhole(disk.stateDir)
      assert.equal(trail.demand(disk.stateDir), 0)
    }
    t.diagnostic(`${waited} lines of the audit log waited for room, and followed`)
    assert(waited > 0)
    t.diagnostic(`refused while full: ${[...refused].join(', ')}`)
    for (const request of [
      'token',
      'guest-codes',
      'connections',
      'stamp',
      'verify',
      'external-members',
    ])
      assert(refused.has(`POST /api/v1/${request}`), request)
    await requireExport(stage)

    // The same for a daemon that is killed in this state.
    const full = await fill()
    await requireBearing(stage)
    await daemon.end('SIGKILL')
    const unlisted = trail.demand(disk.stateDir, full)
    trail.forget()
    t.diagnostic(
      `${unlisted} answers without a line in the audit log: killed before there was room`,
    )
    const { code, err } = await terminal(disk.stateDir)(['status'])
    if (code !== EXIT.noDaemon) assert.match(err, /^countersignd: .*disk.*full/i)
    disk.free()
    await requireLives(t, disk.stateDir, of)
    assert.equal(trail.demand(disk.stateDir), 0)
  })
})

describe('a read-only disk', () => {
  it('at a start: reports it, and changes nothing', { skip: noSmallDisk }, async (t) => {
    const disk = smallDisk(t, DISK)
    const status = terminal(disk.stateDir)
    assert.equal((await status(['status'])).code, EXIT.noDaemon)
    disk.readOnly(true)
    const { code, err } = await status(['status'])
    assert.equal(code, EXIT.failed, err)
    assert.match(err, /^countersignd: .*read-?only/)
    assert(!err.includes('    at '), err)
    disk.readOnly(false)
    assert.equal((await status(['status'])).code, EXIT.noDaemon)
  })

  it(
    'from one moment on: continues, ends in order, and nothing is lost',
    { skip: noFailingDisk },
    async (t) => {
      const disk = failingDisk(t)
      const { daemon, of } = await populated(t, disk.stateDir)
      disk.fail()
      const refused = await requireBearing(of.stage)
      assert.equal(refused.size, WRITES.length, [...refused].join())
      assert.equal(await daemon.end('SIGTERM'), 0, daemon.log())
      const { code, err } = await terminal(disk.stateDir)(['status'])
      assert.equal(code, EXIT.failed, err)
      assert.match(err, /^countersignd: .*(read-?only|fails)/)
      disk.repair()
      await requireLives(t, disk.stateDir, of)
    },
  )
})

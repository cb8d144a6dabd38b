/** A disk that is full, or fails, under a daemon: clear words, nothing acknowledged lost, no crash, and no help needed afterwards. */
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { terminal } from '../cli/terminal.ts'
import { type Answered, ask, caller, listed, newToken } from '../e2e/caller.ts'
import { type Running, startDaemon } from '../e2e/program.ts'
import { chance } from './chance.ts'
import { type Stage, check, newLedger } from './ledger.ts'
import { sized } from './size.ts'
import { failingDisk, noFailingDisk, noSmallDisk, smallDisk } from './small-disk.ts'
import { demandWhole, ownerOf } from './whole.ts'
import { type Writing, WRITES_OF_THINGS } from './writers.ts'

const DISK = 8 << 20
const KIB = 1024
/** More than any file of ours grows by before it needs room on the disk. */
const MANY = 1500

/** What a client may ask that is written nowhere. */
const READS = [
  'GET /health',
  'GET /api/v1/status',
  'GET /api/v1/context',
  'GET /api/v1/api-tokens',
  'GET /api/v1/connections',
  'GET /api/v1/guest-codes',
  'GET /api/v1/verification-log',
  'GET /api/v1/preferences',
]

/** Writes, each of which stores something in a place of its own. */
const WRITES: readonly (readonly [request: string, body: () => unknown])[] = [
  ['POST /api/v1/token', () => ({ name: 't', scope: 'read' })],
  ['POST /api/v1/api-tokens', () => ({ name: 't', scope: 'read' })],
  ['POST /api/v1/guest-codes', () => ({ label: 'g' })],
  ['POST /api/v1/connections', () => ({ name: 'c' })],
  ['POST /api/v1/stamp', () => ({ content: 'x' })],
  ['POST /api/v1/verify', () => ({ words: 'matador carload recede' })],
  ['POST /api/v1/exports', () => undefined],
  ['PATCH /api/v1/preferences', () => ({ locale: 'de' })],
  ['POST /api/v1/external-members', () => ({ display_name: 'm' })],
  ['POST /api/v1/feedback', () => ({ message: 'f' })],
  ['POST /api/v1/chat', () => ({ message: 'how' })],
]

async function started(t: TestContext, dir: string): Promise<Running> {
  const daemon = await startDaemon(dir)
  t.after(() => daemon.end('SIGKILL'))
  return daemon
}

/** A daemon in which everything has been made that a ledger knows. */
async function furnished(t: TestContext, dir: string) {
  const daemon = await started(t, dir)
  const { token } = await newToken(daemon.address)
  const { address, accountAddress } = daemon
  const stage: Stage = { address, accountAddress, token, owner: ownerOf(dir) }
  let n = 0
  const of: Writing = {
    stage,
    ledger: newLedger(),
    chance: chance(t),
    organisation: null,
    next: () => ++n,
  }
  for (let round = 0; round < 2; round++) for (const write of WRITES_OF_THINGS) await write(of)
  return { daemon, of }
}

const refusal = ({ status, body }: Answered) => `${status} ${body?.error ?? ''}`.trim()

/** Reads are answered; a write is done, or refused in the documented words; answers which were refused. */
async function demandBearing({ address, token }: Stage): Promise<Set<string>> {
  const refused = new Set<string>()
  for (const [request, body] of WRITES) {
    const answer = await ask(address, token, request, body())
    // One export is built at a time.
    if (answer.status < 300 || refusal(answer) === '409 conflict') continue
    assert.equal(refusal(answer), '507 storage_full', `${request}: ${JSON.stringify(answer.body)}`)
    assert.match(answer.body.message, /disk (is full|.*takes nothing)/, request)
    refused.add(request)
  }
  for (const request of READS)
    assert.equal((await ask(address, token, request)).status, 200, request)
  return refused
}

/** Everything goes on, in the same daemon. */
async function demandWell({ address, token }: Stage): Promise<void> {
  for (const [request, body] of WRITES) {
    const answer = await ask(address, token, request, body())
    assert(answer.status < 300 || answer.status === 409, `${request}: ${refusal(answer)}`)
  }
  const { last_sync: sync } = await caller(address, token)('POST /api/v1/sync')
  assert.deepEqual([sync.ok, sync.error], [true, null])
}

/** An export gets ready, whatever became of one before. */
async function demandExport({ address, token }: Stage): Promise<void> {
  const call = caller(address, token)
  await call('DELETE /api/v1/exports')
  const { id } = await call('POST /api/v1/exports')
  for (let state = ''; state !== 'ready';) {
    state = (await listed(call, '/api/v1/exports')).find((one) => one.id === id)?.state
    assert(['queued', 'building', 'ready'].includes(state), state)
  }
}

describe('a full disk', { skip: noSmallDisk }, () => {
  const rooms = Array.from({ length: sized(6, 48) }, (_, i) => i * sized(256, 32) * KIB)
  it('at the first start: it works, or says so; with room it works', async (t) => {
    let refused = 0
    for (const room of rooms) {
      const disk = smallDisk(t, 4 << 20)
      disk.fill(room)
      const status = terminal(disk.stateDir)
      const { code, err } = await status(['status'])
      if (code !== EXIT.ok) {
        refused++
        assert.equal(code, EXIT.failed, err)
        assert.match(err, /^countersignd: .*disk.*full/i, `with ${room} bytes`)
      }
      disk.free()
      const again = await status(['status'])
      assert.equal(again.code, EXIT.ok, again.err)
      demandWhole(disk.stateDir)
    }
    t.diagnostic(`${rooms.length} starts, ${refused} refused`)
    assert(refused > 0 && refused < rooms.length)
  })

  it('under a daemon, again and again: it bears it, and goes on without a new start', async (t) => {
    const disk = smallDisk(t, DISK)
    const { daemon, of } = await furnished(t, disk.stateDir)
    const { stage, ledger } = of
    const refused = new Set<string>()
    for (let round = 0; round < sized(2, 12); round++) {
      disk.fill(of.chance.below(3) * 16 * KIB)
      // What the databases had room for in their own files is used up.
      for (let n = 0, isFull = false; n < MANY && !isFull; n++) {
        const name = 'm'.repeat(90)
        const answer = await ask(stage.address, stage.token, 'POST /api/v1/external-members', {
          display_name: name,
          note: name.repeat(20),
        })
        isFull = answer.status === 507
      }
      for (const request of await demandBearing(stage)) refused.add(request)
      // An act that failed is done when it comes again, once.
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
      disk.free()
      await demandWell(stage)
      await check({ ...stage }, Object.assign(ledger, { locales: ['de'] }))
      demandWhole(disk.stateDir)
    }
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
    await demandExport(stage)
    assert.equal(await daemon.end('SIGTERM'), 0, daemon.log())
  })

  it('and a daemon that is killed there: nothing is lost', async (t) => {
    const disk = smallDisk(t, DISK)
    const { daemon, of } = await furnished(t, disk.stateDir)
    disk.fill()
    await demandBearing(of.stage)
    await daemon.end('SIGKILL')
    const { code, err } = await terminal(disk.stateDir)(['status'])
    if (code !== EXIT.ok) assert.match(err, /^countersignd: .*disk.*full/i)
    disk.free()
    const next = await started(t, disk.stateDir)
    const stage = {
      ...of.stage,
      address: next.address,
      accountAddress: next.accountAddress,
      owner: ownerOf(disk.stateDir),
    }
    await demandWell(stage)
    await check(stage, Object.assign(of.ledger, { locales: ['de'] }))
    demandWhole(disk.stateDir)
    assert.equal(await next.end('SIGTERM'), 0, next.log())
  })
})

describe('a disk that can only be read', () => {
  it('at a start: it says so, and touches nothing', { skip: noSmallDisk }, async (t) => {
    const disk = smallDisk(t, DISK)
    const status = terminal(disk.stateDir)
    assert.equal((await status(['status'])).code, EXIT.ok)
    disk.readOnly(true)
    const { code, err } = await status(['status'])
    assert.equal(code, EXIT.failed, err)
    assert.match(err, /^countersignd: .*read-?only/)
    assert(!err.includes('    at '), err)
    disk.readOnly(false)
    assert.equal((await status(['status'])).code, EXIT.ok)
  })

  it(
    'from one moment on: it bears it, ends in order, and nothing is lost',
    { skip: noFailingDisk },
    async (t) => {
      const disk = failingDisk(t)
      const { daemon, of } = await furnished(t, disk.stateDir)
      disk.fail()
      const refused = await demandBearing(of.stage)
      assert.equal(refused.size, WRITES.length, [...refused].join())
      assert.equal(await daemon.end('SIGTERM'), 0, daemon.log())
      const { code, err } = await terminal(disk.stateDir)(['status'])
      assert.equal(code, EXIT.failed, err)
      assert.match(err, /^countersignd: .*(read-?only|fails)/)
      disk.repair()
      const next = await started(t, disk.stateDir)
      const stage = {
        ...of.stage,
        address: next.address,
        accountAddress: next.accountAddress,
        owner: ownerOf(disk.stateDir),
      }
      await demandWell(stage)
      await check(stage, Object.assign(of.ledger, { locales: ['de'] }))
      demandWhole(disk.stateDir)
      assert.equal(await next.end('SIGTERM'), 0, next.log())
    },
  )
})

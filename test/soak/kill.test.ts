/**
 * A daemon killed at any moment: at its first start, under load, while it stops. Every
 * acknowledged write is there, and it starts without help.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { verifyAudit } from '../../src/storage/audit-chain.ts'
import { caller, newToken } from '../e2e/caller.ts'
import { PROGRAM, type Running, environment } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type Chance, chance } from './chance.ts'
import { type Ledger, type Stage, check, newLedger } from './ledger.ts'
import { kill, settled, stageOf, started } from './lives.ts'
import { sized } from './size.ts'
import { type Trail, follow } from './trail.ts'
import { requireWhole, orphans } from './whole.ts'
import { AT_ONCE, writeUntil } from './writers.ts'

/** The number of kills of one state folder. */
const LIFE = 20
/** Moves the clock ahead, so that a start treats abandoned secrets as orphans. */
const NEXT_DAY = {
  NODE_OPTIONS: '--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+25*3600*1000',
}

/** Asserts that the daemon has synced and has all data whole. */
async function requireAll(daemon: Running, token: string, ledger: Ledger): Promise<Stage> {
  const stage = stageOf(daemon, token)
  const { last_sync: sync } = await caller(stage.address, token)('POST /api/v1/sync')
  assert.deepEqual([sync.ok, sync.error], [true, null])
  await check(stage, ledger)
  const { locale } = await caller(stage.address, token)('GET /api/v1/preferences')
  ledger.locales = [locale]
  requireWhole(daemon.stateDir)
  return stage
}

let numbers = 0
const next = () => ++numbers

/** Kills the daemon of one folder this many times under load; returns the counts. */
async function live(t: TestContext, dice: Chance, trail: Trail, kills: number) {
  const { dir, token, organisation, ...first } = await settled(t)
  const ledger = newLedger()
  let daemon = first.daemon
  let [written, left, unlisted] = [0, 0, 0]
  for (let number = 0; number < kills; number++) {
    const stage = stageOf(daemon, token)
    written += await writeUntil({ stage, ledger, chance: dice, organisation, next }, () =>
      kill(daemon, number, dice),
    )
    unlisted += trail.demand(dir)
    trail.forget()
    daemon = await started(t, dir)
    await requireAll(daemon, token, ledger)
    left = Math.max(left, orphans(dir).length)
  }
  // The secret of an operation that never completed is not kept for ever.
  assert(left <= kills * AT_ONCE)
  await daemon.end('SIGTERM')
  daemon = await started(t, dir, NEXT_DAY)
  await caller(daemon.address, token)('POST /api/v1/sync')
  assert.deepEqual(orphans(dir), [])
  assert.equal(await daemon.end('SIGTERM'), 0, daemon.log())
  // A daemon that stopped normally has written all of its lines.
  assert.equal(trail.demand(dir), 0)
  return { written, left, unlisted }
}

test('kill -9 under write load, and while the daemon stops', async (t) => {
  const dice = chance(t)
  const trail = follow(t)
  const kills = sized(2, 140)
  let [written, left, unlisted] = [0, 0, 0]
  for (let rest = kills; rest > 0; rest -= LIFE) {
    const found = await live(t, dice, trail, Math.min(rest, LIFE))
    written += found.written
    left += found.left
    unlisted += found.unlisted
  }
  t.diagnostic(
    `${kills} kills, ${written} writes acknowledged, 0 lost, ${left} secrets left over for a day, ${unlisted} answers of the last turn without a line in the audit log`,
  )
})

/**
 * Kills a first start after a number of events in its folder; returns whether it was still
 * starting.
 */
async function killedStart(dir: string, events: number): Promise<boolean> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, 'serve', '--json'], {
    env: environment(dir),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  let [seen, listens, log] = [0, false, '']
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
  const watcher = watch(dir, () => {
    if (++seen === events) child.kill('SIGKILL')
  })
  child.stdout?.once('data', () => {
    listens = true
    child.kill('SIGKILL')
  })
  const end = await ended
  watcher.close()
  assert.deepEqual(end, [null, 'SIGKILL'], log)
  return !listens
}

test('kill -9 during the very first start', async (t) => {
  const dice = chance(t)
  const kills = sized(1, 30)
  let early = 0
  for (let done = 0; done < kills;) {
    const dir = freshFolder(t)
    // More than once for some, since each start continues with the remains of the one before.
    for (let more = 1 + dice.below(3); more > 0 && done < kills; more--, done++) {
      if (await killedStart(dir, 1 + dice.below(45))) early++
      assert.equal(verifyAudit(dir).fault, null)
    }
    const daemon = await started(t, dir)
    const { token } = await newToken(daemon.address)
    await requireAll(daemon, token, newLedger())
    const { user } = await caller(daemon.address, token)('GET /api/v1/context')
    assert.match(user.id, /^acc_/)
    assert.equal(await daemon.end('SIGTERM'), 0, daemon.log())
  }
  t.diagnostic(`${kills} kills, ${early} of them before it listened`)
})

/**
 * The machine’s clock jumps an hour or a year ahead or back while a daemon runs, and then returns
 * to the right time: nothing verifies twice, nothing revoked or expired becomes valid for good,
 * and all works once the clock is right.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startAccountServer } from '../account-server.ts'
import { ask } from '../daemon.ts'
import { linkOf, wordsFrom } from '../e2e/peer.ts'
import { countersignd } from '../e2e/program.ts'
import { login } from '../e2e/servers.ts'
import { type Machine, onMachine } from './clock-machine.ts'
import { sized } from './size.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const YEAR = 365 * 24 * HOUR
/** More timers than a daemon sets for the few requests of this test. */
const MOST_TIMERS = 1000

interface Verdict {
  verified: boolean
  replayed: boolean
  conclusive: boolean
  reasons: string[]
}
const hears = ({ good }: Machine, words: string) =>
  good<Verdict>('POST', '/api/v1/verify', { body: { words } })

/** Creates a guest code, and a function that returns the guest’s words at a time. */
async function newGuest({ good }: Machine, expiresIn?: number) {
  const { url, id } = await good<{ url: string; id: string }>('POST', '/api/v1/guest-codes', {
    body: { label: 'Plumber', ...(expiresIn === undefined ? {} : { expires_in: expiresIn }) },
  })
  const { k } = linkOf(url)
  const says = (at: number) =>
    wordsFrom({ label: 'guest', k, subject: id, speaker: id, window: Math.floor(at / MINUTE) })
  return { id, says }
}

const newToken = ({ good }: Machine, expires_in?: number) =>
  good<{ id: string; token: string }>('POST', '/api/v1/token', {
    body: { name: 'one', scope: 'read', ...(expires_in === undefined ? {} : { expires_in }) },
  })
const statusWith = async ({ call }: Machine, { token }: { token: string }) =>
  (await call('GET', '/api/v1/status', { token })).status

const syncs = async ({ good }: Machine) =>
  (await good<{ last_sync: { ok: boolean; error: string } }>('POST', '/api/v1/sync')).last_sync

const ALL: [name: string, ms: number][] = [
  ['an hour back', -HOUR],
  ['an hour ahead', HOUR],
  ['a year ahead', YEAR],
  ['a year back', -YEAR],
]

const MOVES = ALL.slice(-sized(2, ALL.length))

describe('the clock changes', () => {
  for (const [name, ms] of MOVES)
    it(`${name}, and becomes right again`, async (t) => {
      const machine = await onMachine(t)
      const { good, call, set, now, stateDir } = machine
      const isAhead = ms > 0
      const [lasting, short, revoked] = [
        await newToken(machine),
        await newToken(machine, 1800),
        await newToken(machine),
      ]
      await call('DELETE', `/api/v1/api-tokens/${revoked.id}`)
      const guest = await newGuest(machine)
      const connection = await good<{ id: string }>('POST', '/api/v1/connections', {
        body: { name: 'Bank' },
      })
      const keyed = { body: { name: 'Tag' }, headers: { 'Idempotency-Key': 'once' } }
      const tag = await good<{ id: string }>('POST', '/api/v1/tags', keyed)
      const words = guest.says(now())
      assert.equal((await hears(machine, words)).verified, true)

      await set(ms)
      const { uptime_s: uptime } = await good<{ uptime_s: number }>('GET', '/health')
      assert(uptime >= 0, `${uptime} s`)
      // Tokens expire by the clock of the machine, and a revoked one stays revoked.
      assert.deepEqual(
        [await statusWith(machine, lasting), await statusWith(machine, short)],
        [200, isAhead ? 401 : 200],
      )
      assert.equal(await statusWith(machine, revoked), 401)
      const code = await call('GET', `/api/v1/connections/${connection.id}/code`)
      const { valid_from: from, state } = code.json as { valid_from: string; state: string }
      if (isAhead) assert(Math.abs(Date.parse(from) - now()) <= 2 * MINUTE, code.text)
      else assert.deepEqual([code.status, state], [409, 'clock_uncertain'])
      // Words that were verified prove nothing again; after a jump back, new words do not either.
      assert.equal((await hears(machine, words)).verified, false)
      if (!isAhead) {
        const back = await hears(machine, guest.says(now()))
        assert.equal(back.verified, false)
        assert(back.reasons.includes('clock_uncertain'), JSON.stringify(back))
      }
      const again = await good<{ id: string }>('POST', '/api/v1/tags', keyed).catch(() => null)
      // An idempotency key is kept for a day by the clock.
      if (ms !== YEAR) assert.equal(again?.id, tag.id)
      assert.equal((await syncs(machine)).ok, true)
      const made = await newToken(machine, 600)
      assert.equal(await statusWith(machine, made), 200)

      const timers = await set(0)
      // No server measures the clock of this account: the user reports that it was wrong.
      if (isAhead) await call('POST', '/local/v1/clock')
      assert(timers < MOST_TIMERS, `${timers} timers`)
      assert.deepEqual(
        [await statusWith(machine, lasting), await statusWith(machine, short)],
        [200, 200],
      )
      assert.equal(await statusWith(machine, revoked), 401)
      assert.equal((await hears(machine, words)).verified, false)
      assert.equal((await syncs(machine)).ok, true)
      const fresh = await newGuest(machine)
      const well = await hears(machine, fresh.says(now()))
      assert.deepEqual([well.verified, well.reasons], [true, []], JSON.stringify(well))
      // The guest verifies again, in another minute than the used one; but a code that expired
      // while the clock ran ahead stays expired.
      const later = await hears(machine, guest.says(now() + MINUTE))
      assert.equal(later.verified, ms !== YEAR)
      // Its lifetime was ten minutes, which may have ended a year ago by now.
      assert.equal(await statusWith(machine, made), isAhead ? 200 : 401)

      await machine.daemon().end('SIGTERM')
      const {
        code: exit,
        stdout,
        stderr,
      } = await countersignd(['audit', 'verify', '--json'], stateDir)
      assert.equal(exit, 0, stdout + stderr)
    })
})

describe('a clock that ran ahead', () => {
  it('and words of that time: they do not verify before the clock has passed them, and never twice', async (t) => {
    const machine = await onMachine(t)
    const guest = await newGuest(machine)
    await machine.set(10 * MINUTE)
    const ahead = guest.says(machine.now())
    assert.equal((await hears(machine, ahead)).verified, true)
    await machine.set(0)
    const now = await hears(machine, guest.says(machine.now()))
    assert.deepEqual([now.verified, now.reasons], [false, ['clock_uncertain']])
    // The clock is right again by then, and the words of that time are used up.
    await machine.set(10 * MINUTE)
    assert.equal((await hears(machine, ahead)).verified, false)
    await machine.set(12 * MINUTE)
    assert.equal((await hears(machine, guest.says(machine.now()))).verified, true)
  })

  it('leaves no rate limit behind, and keeps expired objects expired', async (t) => {
    const machine = await onMachine(t)
    const guest = await newGuest(machine, 3600)
    const { call, set } = machine
    const mailed = () =>
      ask(machine.daemon().accountAddress, 'POST', '/device/v1/sign-ins', {
        body: { email: 'ada@example.org' },
      })
    const added = (to: string) =>
      call('POST', '/api/v1/emails', { body: { address: `${to}@example.org` } })
    const guessed = () =>
      call('POST', '/api/v1/verify', { body: { words: 'matador carload recede' } })
    const statuses = async () => [await mailed(), await added('ada')].map(({ status }) => status)
    await set(YEAR)
    assert.equal((await syncs(machine)).ok, true)
    for (let i = 0; i < 5; i++) await mailed()
    for (let i = 0; i < 20; i++) await guessed()
    for (let i = 0; i < 10; i++) await added(`eve${i}`)
    assert.deepEqual(await statuses(), [429, 429])
    assert.equal((await guessed()).status, 429)
    await set(0)
    assert.deepEqual(await statuses(), [202, 201])
    // The limit on wrong words uses the uptime of the machine: a new time does not extend it.
    const { headers } = await guessed()
    assert(Number(headers['retry-after'] ?? 0) <= 60, String(headers['retry-after']))
    assert.equal((await syncs(machine)).ok, true)
    const { token } = await machine.good<{ token: string }>('POST', '/api/v1/token', {
      body: { name: 'other', scope: 'write' },
    })
    const words = guest.says(machine.now())
    const verified = await call('POST', '/api/v1/verify', { token, body: { words } })
    assert.deepEqual([verified.status, (verified.json as Verdict).verified], [200, false])
  })
})

describe('recorded words, and a clock set back to their time', () => {
  const BACK = 30 * MINUTE
  for (const isFar of [false, true])
    for (const restarted of [false, true])
      it(`${isFar ? 'remote account server' : 'embedded account'}${restarted ? ', after a restart of the daemon' : ''}: no proof, and never conclusive`, async (t) => {
        const server = isFar ? await startAccountServer(t) : null
        const machine = await onMachine(
          t,
          server === null ? {} : { SVC_BACKEND_URL: server.address },
        )
        if (server !== null)
          await login(machine.stateDir, {
            server: server.address,
            mailDir: join(server.stateDir, 'mail'),
            email: 'ada@example.org',
          })
        const guest = await newGuest(machine)
        const recorded = guest.says(machine.now() - BACK)
        assert.equal((await syncs(machine)).ok, true)
        if (restarted) await machine.restartAt(-BACK)
        else await machine.set(-BACK)
        for (const synced of [false, true]) {
          if (synced) await syncs(machine)
          const verified = await hears(machine, recorded)
          assert.deepEqual(
            [verified.verified, verified.conclusive, verified.reasons],
            [false, false, ['clock_uncertain']],
          )
        }
        await machine.set(0)
        if (isFar) await syncs(machine)
        const well = await hears(machine, guest.says(machine.now()))
        assert.deepEqual([well.verified, well.reasons], [true, []], JSON.stringify(well))
      })
})

describe('a remote account server', () => {
  for (const [name, ms] of MOVES.slice(-sized(1, MOVES.length)))
    it(`a device with a clock ${name}: keeps asking, trusts no words, and recovers`, async (t) => {
      const server = await startAccountServer(t)
      const machine = await onMachine(t, { SVC_BACKEND_URL: server.address })
      await login(machine.stateDir, {
        server: server.address,
        mailDir: join(server.stateDir, 'mail'),
        email: 'ada@example.org',
      })
      const guest = await newGuest(machine)
      await machine.set(ms)
      await machine.good('GET', '/api/v1/tags')
      // The first sync may be one that had started before.
      await machine.call('POST', '/api/v1/sync')
      assert.equal((await syncs(machine)).ok, true)
      const wrong = await hears(machine, guest.says(machine.now()))
      assert(wrong.reasons.includes('clock_uncertain'), JSON.stringify(wrong))
      assert.equal(wrong.conclusive, false)
      await machine.set(0)
      await machine.good('GET', '/api/v1/tags')
      await machine.call('POST', '/api/v1/sync')
      const last = await syncs(machine)
      assert.equal(last.ok, true, last.error)
      const fresh = await newGuest(machine)
      const well = await hears(machine, fresh.says(machine.now()))
      // An hour ahead, words of a guest with the same wrong clock were verified.
      if (!wrong.verified) assert.deepEqual([well.verified, well.reasons], [true, []])
      assert.equal((await machine.call('GET', '/api/v1/sync')).status, 200)
    })
})

/** Data that survives a normal stop, and a kill in the middle of work. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { ask, caller, listed, newToken, type Json } from './caller.ts'
import { linkOf, minuteOf, wordsFrom } from './peer.ts'
import { startDaemon } from './program.ts'

const WRONG = 'matador carload recede'

describe('SIGTERM and another start', () => {
  it('keeps everything, and keeps revoked objects revoked', async (t) => {
    const dir = freshFolder(t)
    const first = await startDaemon(dir)
    const made = await newToken(first.address)
    const revoked = await newToken(first.address, 'read')
    const call = caller(first.address, made.token)
    await call(`DELETE /api/v1/api-tokens/${revoked.id}`)
    const guest = await call('POST /api/v1/guest-codes', { label: 'A friend' })
    const gone = await call('POST /api/v1/guest-codes', { label: 'Not any more' })
    await call(`DELETE /api/v1/guest-codes/${gone.id}`)
    const connection = await call('POST /api/v1/connections', { name: 'Bank' })
    await call(`PATCH /api/v1/connections/${connection.id}`, { name: 'The bank', favorite: true })
    const dropped = await call('POST /api/v1/connections', { name: 'Dropped' })
    await call(`DELETE /api/v1/connections/${dropped.id}`)

    const own = await call(`GET /api/v1/connections/${connection.id}/code`)
    const { id, k } = linkOf(guest.url)
    const window = minuteOf(own.valid_from)
    const words = wordsFrom({ label: 'guest', k, subject: id, speaker: id, window })
    const verified = await call('POST /api/v1/verify', { words })
    assert.equal(verified.verified, true)
    await call('POST /api/v1/verify', { words: WRONG })
    const before = {
      connections: await listed(call, '/api/v1/connections'),
      log: await listed(call, '/api/v1/verification-log'),
      context: await call('GET /api/v1/context'),
    }
    assert.deepEqual(
      before.log.map(({ outcome }) => outcome),
      ['not_verified', 'verified'],
    )
    assert.equal(await first.end('SIGTERM'), 0)
    assert(!existsSync(join(dir, 'runtime.json')))

    const second = await startDaemon(dir)
    t.after(() => second.end('SIGTERM'))
    const again = caller(second.address, made.token)
    const { status, body } = await ask(second.address, revoked.token, 'GET /api/v1/status')
    assert.deepEqual([status, body.error], [401, 'invalid_token'])
    const tokens = await listed(again, '/api/v1/api-tokens')
    assert.deepEqual(
      tokens.map((token) => [token.id, token.state]),
      [
        [revoked.id, 'revoked'],
        [made.id, 'active'],
      ],
    )
    assert.deepEqual(
      {
        connections: await listed(again, '/api/v1/connections'),
        log: await listed(again, '/api/v1/verification-log'),
        context: await again('GET /api/v1/context'),
      },
      before,
    )
    const guests = await listed(again, '/api/v1/guest-codes')
    assert.deepEqual(
      guests.map((item) => [item.id, item.state, item.secret_here]),
      [
        [gone.id, 'revoked', false],
        [guest.id, 'active', true],
      ],
    )
    // The earlier words are valid for two minutes: they are stored as used.
    const replayed = await again('POST /api/v1/verify', { words })
    assert.deepEqual(
      [replayed.verified, replayed.replayed, replayed.first_verified_at],
      [false, true, verified.checked_at],
    )
    const echo = await again('POST /api/v1/verify', { words: own.words })
    assert.deepEqual([echo.echo, echo.matches[0].connection_name], [true, 'The bank'])
  })
})

describe('kill -9 in the middle of a thousand creates', () => {
  const MOST = 1000
  const IN_FLIGHT = 12
  const KILL_AT = MOST / 2

  it('loses nothing that was acknowledged, and starts again', async (t) => {
    const dir = freshFolder(t)
    const daemon = await startDaemon(dir)
    const { token } = await newToken(daemon.address)
    const call = caller(daemon.address, token)
    const kinds = {
      connections: (n: number) => call('POST /api/v1/connections', { name: `connection ${n}` }),
      guests: (n: number) => call('POST /api/v1/guest-codes', { label: `guest ${n}` }),
      tokens: (n: number) => call('POST /api/v1/api-tokens', { name: `token ${n}`, scope: 'read' }),
    } as const
    type Kind = keyof typeof kinds
    const order: Kind[] = ['connections', 'guests', 'tokens']
    const acknowledged: Record<Kind, Json[]> = { connections: [], guests: [], tokens: [] }
    let [next, count] = [0, 0]
    let killed: Promise<number | null> | undefined

    /**
     * Runs one client: it creates resources one after the other until the daemon no longer
     * answers.
     */
    async function work(): Promise<void> {
      while (next < MOST) {
        const n = next++
        const kind = order[n % order.length] as Kind
        try {
          acknowledged[kind].push(await kinds[kind](n))
        } catch (error) {
          // Only the kill may interrupt it.
          if (killed === undefined) throw error
          return
        }
        if (++count === KILL_AT) killed = daemon.end('SIGKILL')
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, work))
    assert.equal(await killed, null, 'it was killed')
    assert(count >= KILL_AT && next < MOST, `${count} acknowledged of ${next} begun`)
    for (const kind of order) assert(acknowledged[kind].length > KILL_AT / 4)

    const again = await startDaemon(dir)
    const { last_sync: sync } = await caller(again.address, token)('POST /api/v1/sync')
    assert.deepEqual([sync.ok, sync.error], [true, null])
    const now = caller(again.address, token)
    const connections = await listed(now, '/api/v1/connections')
    const guests = await listed(now, '/api/v1/guest-codes')
    const tokens = await listed(now, '/api/v1/api-tokens')
    const ids = (items: Json[]) => new Set<string>(items.map(({ id }) => id as string))
    const stored: Record<Kind, Set<string>> = {
      connections: ids(connections),
      guests: ids(guests),
      tokens: ids(tokens),
    }
    for (const kind of order) {
      const lost = acknowledged[kind].filter(({ id }) => !stored[kind].has(id))
      assert.deepEqual(lost, [], kind)
    }
    // A create that was in progress may be there or not, but never in part.
    for (const { id, secret_here } of connections) {
      assert(secret_here, id)
      const { name } = await now(`GET /api/v1/connections/${id}`)
      const { words } = await now(`GET /api/v1/connections/${id}/code`)
      assert.match(words, /^[a-z]+ [a-z]+ [a-z]+$/, name)
    }
    const { user } = await now('GET /api/v1/context')
    const codes = new Map(guests.map(({ id, code }) => [id as string, code]))
    for (const [id, code] of codes) assert(code !== null, id)
    for (const { url } of acknowledged.guests) {
      const { id, k } = linkOf(url)
      const { words, valid_from } = codes.get(id)
      const window = minuteOf(valid_from)
      assert.equal(words, wordsFrom({ label: 'guest', k, subject: id, speaker: user.id, window }))
    }
    for (const made of acknowledged.tokens)
      assert.equal((await ask(again.address, made.token, 'GET /api/v1/status')).status, 200)
    assert.equal(await again.end('SIGTERM'), 0, again.log())
  })
})

/** What one account may ask of an account server at once, and how much it may write. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import type { Dispatch, Request } from '../../src/dispatch.ts'
import { AppError } from '../../src/errors.ts'
import { MOST_IN_FLIGHT, newAccountLoad } from '../../src/server/account-load.ts'
import { askProven, signIn, startAccountServer } from '../account-server.ts'

const requestOf = (method: string) => ({ method }) as Request

describe('requests of an account in flight', () => {
  it('are limited, with Retry-After; those of another account are not', async () => {
    const load = newAccountLoad(async () => undefined)
    const gates: PromiseWithResolvers<void>[] = []
    const dispatch = (account: string) =>
      load.counting((async (request: Request) => {
        await load.enter(request, account)
        const gate = Promise.withResolvers<void>()
        gates.push(gate)
        await gate.promise
      }) as unknown as Dispatch)
    const running = Array.from({ length: MOST_IN_FLIGHT }, () => dispatch('a')(requestOf('GET')))
    const refused = (error: unknown) =>
      error instanceof AppError &&
      error.code === 'rate_limited' &&
      error.headers['Retry-After'] === '1'
    await assert.rejects(dispatch('a')(requestOf('GET')), refused)
    const other = dispatch('b')(requestOf('GET'))
    gates[0]!.resolve()
    await running[0]
    // One ended, so there is room for one.
    const next = dispatch('a')(requestOf('GET'))
    await assert.rejects(dispatch('a')(requestOf('GET')), refused)
    gates.forEach(({ resolve }) => resolve())
    await Promise.all([...running, other, next])
  })

  it('end with an error as well, and reads take no write', async () => {
    const taken: string[] = []
    const load = newAccountLoad(async (account) => {
      taken.push(account)
      throw new AppError('rate_limited', 'too many')
    })
    const dispatch = load.counting((async (request: Request) => {
      await load.enter(request, 'a')
    }) as unknown as Dispatch)
    for (let i = 0; i < 2 * MOST_IN_FLIGHT; i++)
      await assert.rejects(dispatch(requestOf('POST')), { code: 'rate_limited' })
    assert.equal(taken.length, 2 * MOST_IN_FLIGHT)
    await dispatch(requestOf('GET'))
    assert.equal(taken.length, 2 * MOST_IN_FLIGHT)
  })
})

it('an account that used up the writes of this minute is told when to try again, and reads on', async (t) => {
  const server = await startAccountServer(t)
  const [ada, bob] = [
    await signIn(server, 'ada@example.org'),
    await signIn(server, 'bob@example.org'),
  ]
  // As other replicas would have taken them; also of the next minute, which may begin meanwhile.
  const db = new DatabaseSync(join(server.stateDir, 'account.db'))
  const minute = Math.floor(Date.now() / 60_000)
  const insert = db.prepare('insert into seen_once (id, expires_at) values (?, ?)')
  for (const at of [minute, minute + 1])
    for (let block = 0; block < 30; block++)
      insert.run(`writes ${ada.id} ${at} ${block}`, (at + 1) * 60_000)
  db.close()
  const write = (held: typeof ada.held) =>
    askProven(server, 'POST', '/api/v1/tags', held, { body: { name: 'Family' } })
  const { status, json, headers } = await write(ada.held)
  assert.equal(`${status} ${(json as { error: string }).error}`, '429 rate_limited')
  assert.match(headers['retry-after'] ?? '', /^[1-9]\d?$/)
  assert.equal((await askProven(server, 'GET', '/api/v1/tags', ada.held)).status, 200)
  assert.equal((await write(bob.held)).status, 201)
})

/**
 * Tests the limits of one account at an account server.
 * They cover requests in flight and writes per minute.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import type { Dispatch, Request } from '../../src/http/dispatch.ts'
import { AppError } from '../../src/errors.ts'
import { ACCOUNT_SHARE, CALLER_SHARE, newAccountLoad } from '../../src/http/account-listener.ts'
import {
  type Device,
  type TestServer,
  askProven,
  signIn,
  startAccountServer,
} from '../account-server.ts'
import { rejects } from '../rejects.ts'

const requestOf = (method: string, path = '/api/v1/tags') =>
  ({ method, segments: path.slice(1).split('/') }) as unknown as Request

/** Returns a load limiter with requests that stay in flight until `end`. */
function loaded() {
  const load = newAccountLoad(async () => undefined)
  const gates: PromiseWithResolvers<void>[] = []
  const ask = (account: string, caller: string, request = requestOf('GET')) =>
    load.counting((async () => {
      await load.enter(request, { account, caller })
      const gate = Promise.withResolvers<void>()
      gates.push(gate)
      await gate.promise
    }) as unknown as Dispatch)(request)
  const fill = (account: string, caller: string) =>
    Array.from({ length: CALLER_SHARE.inFlight }, () => ask(account, caller))
  return { ask, fill, gates, end: () => gates.forEach(({ resolve }) => resolve()) }
}

async function refused(call: Promise<unknown>) {
  const { headers } = await rejects('rate_limited', call)
  assert.equal(headers['Retry-After'], '1')
}

describe('requests in flight', () => {
  it('of a device are limited, with Retry-After; those of other devices are not', async () => {
    const { ask, fill, gates, end } = loaded()
    const running = fill('acc_a', 'dev_a')
    await refused(ask('acc_a', 'dev_a'))
    const others = [ask('acc_a', 'dev_b'), ask('acc_b', 'dev_c')]
    gates[0]!.resolve()
    await running[0]
    // One request ended, so there is room for one.
    const next = ask('acc_a', 'dev_a')
    await refused(ask('acc_a', 'dev_a'))
    end()
    await Promise.all([...running, ...others, next])
  })

  it('of an account are limited, except those that end a device or a session', async () => {
    const { ask, fill, end } = loaded()
    const running = ['1', '2', '3', '4'].flatMap((n) => fill('acc_a', `dev_${n}`))
    assert.equal(running.length, ACCOUNT_SHARE.inFlight)
    await refused(ask('acc_a', 'dev_own'))
    const ending = [
      ['GET', '/api/v1/devices'],
      ['GET', '/device/v1/key-logs/acc_a'],
      ['POST', '/device/v1/key-logs'],
      ['DELETE', '/api/v1/devices/dev_1'],
      ['DELETE', '/api/v1/sessions/ses_1'],
    ].map(([method, path]) => ask('acc_a', 'dev_own', requestOf(method!, path)))
    // A device gets no more than its own share.
    await refused(ask('acc_a', 'dev_1', requestOf('POST', '/device/v1/key-logs')))
    end()
    await Promise.all([...running, ...ending])
  })

  it('count as ended after an error, and reads use no write allowance', async () => {
    const taken: string[] = []
    const load = newAccountLoad(async (subject) => {
      taken.push(subject)
      throw new AppError('rate_limited', 'too many')
    })
    const dispatch = load.counting((async (request: Request) => {
      await load.enter(request, { account: 'acc_a', caller: 'dev_a' })
    }) as unknown as Dispatch)
    for (let i = 0; i < 2 * CALLER_SHARE.inFlight; i++)
      await rejects('rate_limited', dispatch(requestOf('POST')))
    assert.equal(taken.length, 2 * CALLER_SHARE.inFlight)
    await dispatch(requestOf('GET'))
    assert.equal(taken.length, 2 * CALLER_SHARE.inFlight)
  })
})

/** Uses up the writes of this minute, and of the next one, which may begin meanwhile. */
function useUp(server: TestServer, subject: string, { writes }: { writes: number }): void {
  const db = new DatabaseSync(join(server.stateDir, 'account.db'))
  const minute = Math.floor(Date.now() / 60_000)
  const insert = db.prepare('insert or ignore into seen_once (id, expires_at) values (?, ?)')
  for (const at of [minute, minute + 1])
    for (let block = 0; block < writes / 100; block++)
      insert.run(`writes ${hash('sha256', subject, 'hex')} ${at} ${block}`, (at + 1) * 60_000)
  db.close()
}

const write = (server: TestServer, { credentials }: Device) =>
  askProven(server, 'POST', '/api/v1/tags', credentials, { body: { name: 'Family' } })

for (const limitOf of ['device', 'account'] as const)
  it(`a used-up write allowance of the ${limitOf} gets Retry-After, and reads still work`, async (t) => {
    const server = await startAccountServer(t)
    const [ada, bob] = [
      await signIn(server, 'ada@example.org'),
      await signIn(server, 'bob@example.org'),
    ]
    useUp(
      server,
      limitOf === 'device' ? ada.device : ada.id,
      limitOf === 'device' ? CALLER_SHARE : ACCOUNT_SHARE,
    )
    const { status, json, headers } = await write(server, ada)
    assert.equal(`${status} ${(json as { error: string }).error}`, '429 rate_limited')
    assert.match(headers['retry-after'] ?? '', /^[1-9]\d?$/)
    assert.equal((await askProven(server, 'GET', '/api/v1/tags', ada.credentials)).status, 200)
    assert.equal((await write(server, bob)).status, 201)
  })

it('an account without write allowance can still end a device and a session', async (t) => {
  const server = await startAccountServer(t)
  const ada = await signIn(server, 'ada@example.org')
  useUp(server, ada.id, ACCOUNT_SHARE)
  assert.equal((await write(server, ada)).status, 429)
  const body = { entry: 'a.b.c' }
  const { json } = await askProven(server, 'POST', '/device/v1/key-logs', ada.credentials, { body })
  assert.equal((json as { error: string }).error, 'validation_failed')
  const ended = await askProven(server, 'DELETE', '/device/v1/session/current', ada.credentials)
  assert.equal(ended.status, 204)
})

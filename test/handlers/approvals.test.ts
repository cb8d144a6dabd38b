/** The routes of a device's approval, as a console, the command line and an API token call them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { SignIn } from '../../src/api/local/index.ts'
import { newPage, type Page } from '../console/page.ts'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import { asOwner, signIn } from './people.ts'

describe('the approval of a device over the API', () => {
  const daemons: TestDaemon[] = []
  let first: TestDaemon
  let second: TestDaemon
  let id = ''
  let page: Page

  before(async () => {
    const start = async (env: Record<string, string> = {}) => {
      const daemon = await startDaemon(env)
      daemons.push(daemon)
      return daemon
    }
    const home = await start()
    const env = { SVC_BACKEND_URL: home.accountAddress }
    first = await start(env)
    second = await start(env)
    const email = 'ada@example.org'
    await signIn(first, home, email)
    page = newPage(first)
    await page.open('full')
    id = (await signIn(second, home, email)).device_id ?? ''
  })
  after(async () => {
    for (const daemon of daemons.toReversed()) await daemon.close()
  })

  const pathOf = (rest = '', device = id) => `/api/v1/devices/${device}/approval${rest}`
  /** Sends a request from a console of scope full. */
  const call = (method: string, rest = '', body?: unknown, device = id): Promise<Answer> =>
    page.send(method, pathOf(rest, device), { body })
  const there = (rest: string, body?: unknown) =>
    asOwner<SignIn>(second, 'POST', `/local/v1/sign-in/approval${rest}`, body)
  const codeOf = ({ json }: Answer) => (json as { error?: string }).error

  const steps = [
    ['GET', '', undefined],
    ['POST', '/attempt', undefined],
    ['POST', '/step', undefined],
    ['POST', '', { words: 'matador carload recede nervous' }],
  ] as const

  it('needs the scope full, also of a console', async () => {
    const token = await first.token('write')
    const other = newPage(first)
    await other.open('write')
    for (const [method, rest, body] of steps) {
      const path = pathOf(rest)
      const answers = [
        await first.request(method, path, { token, body }),
        await other.send(method, path, { body }),
      ]
      assert.deepEqual(answers.map(codeOf), ['insufficient_scope', 'insufficient_scope'])
    }
  })

  it('is not possible with an API token, which only reads how far it is', async () => {
    const token = await first.token('full')
    for (const [method, rest, body] of steps.slice(1)) {
      const answer = await first.request(method, pathOf(rest), { token, body })
      assert.equal(codeOf(answer), 'forbidden')
      assert.match(answer.text, /"countersignd device approve.*countersignd open --full/)
    }
    assert.equal((await first.request('GET', pathOf(), { token })).status, 200)
    // Nothing was begun.
    assert.equal(codeOf(await call('POST', '/step')), 'invalid_state')
  })

  it('of an unknown device is not found', async () => {
    for (const [method, rest, body] of steps)
      assert.equal(codeOf(await call(method, rest, body, 'laptop')), 'not_found')
    const unknown = 'dev_01k9zq3v5w8x2y4z6a8b0c2d4e'
    for (const [method, rest] of steps.slice(0, 2))
      assert.equal(codeOf(await call(method, rest, undefined, unknown)), 'not_found')
  })

  it('needs an attempt, and the words that the new device shows', async () => {
    assert.equal(codeOf(await call('POST', '/step')), 'invalid_state')
    await there('/attempt')
    const begun = (await call('POST', '/attempt')).json
    assert.equal((begun as { state: string }).state, 'revealing')
    assert.equal(codeOf(await call(...steps[3])), 'invalid_state')
    const { device_words } = await there('/step')
    assert.equal((await call('POST', '/step')).status, 200)
    assert.equal(codeOf(await call('POST', '', { words: 'matador carload' })), 'word_count')
    assert.equal(codeOf(await call(...steps[3])), 'validation_failed')
    const { json } = await call('POST', '', { words: device_words })
    const { words } = json as { words: string }
    assert.deepEqual((await call('GET')).json, { state: 'pending', unsealed: 0 })
    assert.equal((await there('', { words })).state, 'signed_in')
    assert.deepEqual((await call('GET')).json, { state: 'active', unsealed: 0 })
    const audit = readFileSync(join(first.stateDir, 'audit.jsonl'), 'utf8')
    assert(audit.includes('"POST /api/v1/devices/{id}/approval","status":200'), 'not audited')
    for (const secret of [words, String(device_words)])
      assert(!`${audit}${first.log.join('')}`.includes(secret), 'the words are stored')
  })
})

it('a console approves no device any more after its scope full has ended', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const page = newPage(daemon)
  await page.open('full')
  const begin = async () => {
    const path = '/api/v1/devices/dev_01k9zq3v5w8x2y4z6a8b0c2d4e/approval/attempt'
    return ((await page.send('POST', path)).json as { error: string }).error
  }
  assert.equal(await begin(), 'not_found')
  t.mock.timers.tick(15 * 60_000)
  assert.equal(await begin(), 'insufficient_scope')
})

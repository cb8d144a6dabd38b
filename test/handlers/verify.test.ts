/** Tests `expect` in a check of words, and challenges, over HTTP. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { linkOf, wordsFrom } from '../e2e/peer.ts'

const WRONG = 'matador carload recede'
const AT = 1_767_225_600_000

describe('POST /api/v1/verify with "expect"', () => {
  let daemon: TestDaemon
  let token: string
  let own: { connection: string; account: string; words: string }
  const ask = async (expect: unknown, words: string = WRONG) => {
    const question = { token, body: { words, expect } }
    const { status, json } = await daemon.request('POST', '/api/v1/verify', question)
    return { status, json: json as Record<string, unknown> }
  }

  before(async () => {
    daemon = await startDaemon()
    token = await daemon.token('write')
    const call = async (method: string, path: string, body?: unknown) =>
      (await daemon.request(method, path, { token, body })).json as Record<string, unknown>
    const { id } = await call('POST', '/api/v1/connections', { name: 'Bank' })
    const { words } = await call('GET', `/api/v1/connections/${id as string}/code`)
    const { user } = await call('GET', '/api/v1/context')
    own = {
      connection: id as string,
      account: (user as { id: string }).id,
      words: words as string,
    }
  })
  after(() => daemon.close())

  const [con, acc] = [newId('con_', AT), newId('acc_', AT)]
  for (const expect of [
    null,
    '',
    con,
    [con],
    {},
    { connection_id: null },
    { connection_id: acc },
    { user_id: con },
    { user_id: `${acc}0` },
    { user_id: acc.toUpperCase() },
    { connection_id: con, user_id: acc },
    { guest_code_id: con },
    { guest_code_id: newId('gst_', AT), connection_id: con },
    { connection_id: con, name: 'Bank' },
  ])
    it(`${JSON.stringify(expect)}: 422`, async () => {
      const { status, json } = await ask(expect)
      assert.deepEqual([status, json['error']], [422, 'validation_failed'])
      const [{ path } = { path: '' }] = json['issues'] as { path: string }[]
      assert.match(path, /^expect/)
    })

  for (const [name, expect] of [
    ['an unknown connection', () => ({ connection_id: con })],
    ['an account that is in no connection', () => ({ user_id: acc })],
    ['the own account', () => ({ user_id: own.account })],
    ['an unknown guest code', () => ({ guest_code_id: newId('gst_', AT) })],
  ] as const)
    it(`${name}: 404`, async () => {
      const { status, json } = await ask(expect())
      assert.deepEqual([status, json['error']], [404, 'not_found'])
    })

  it('a connection: 200, for its words alone', async () => {
    const expect = { connection_id: own.connection }
    const wrong = await ask(expect)
    assert.equal(wrong.status, 200)
    assert.partialDeepStrictEqual(wrong.json, {
      verified: false,
      conclusive: true,
      matches: [],
      checked: 1,
    })
    const echo = await ask(expect, own.words)
    assert.deepEqual([echo.json['verified'], echo.json['echo']], [false, true])
  })

  it('a guest: 200, for the words of this guest alone, until the guest code ends', async () => {
    const create = async (label: string) => {
      const body = { label }
      const { json } = await daemon.request('POST', '/api/v1/guest-codes', { token, body })
      const { id, k } = linkOf((json as { url: string }).url)
      const says = () =>
        wordsFrom({
          label: 'guest',
          k,
          subject: id,
          speaker: id,
          window: Math.floor(Date.now() / 60_000),
        })
      return { expect: { guest_code_id: id }, id, says }
    }
    const [mum, dad] = [await create('Mum'), await create('Dad')]
    const other = await ask(mum.expect, dad.says())
    assert.partialDeepStrictEqual(other.json, {
      verified: false,
      conclusive: true,
      matches: [],
      checked: 1,
    })
    assert.match(other.json['summary'] as string, /guest "Mum" does not say these words now/)
    // The words of the other guest were not used up.
    for (const { expect, says } of [mum, dad])
      assert.equal((await ask(expect, says())).json['verified'], true)
    await daemon.request('DELETE', `/api/v1/guest-codes/${mum.id}`, { token })
    assert.equal((await ask(mum.expect, mum.says())).status, 404)
  })

  it('is rejected by verify/public, so that the server does not see the expected speaker', async () => {
    const { status } = await daemon.request('POST', '/api/v1/verify/public', {
      token,
      body: { words: WRONG, expect: { connection_id: own.connection } },
    })
    assert.equal(status, 422)
  })
})

describe('challenges over HTTP', () => {
  let daemon: TestDaemon
  let token: string
  let connection: string
  const PURPOSE = 'Canary 12,000'
  const call = async (method: string, path: string, body?: unknown, by = token) => {
    const { status, json } = await daemon.request(method, path, { token: by, body })
    return { status, json: json as Record<string, unknown> }
  }

  before(async () => {
    daemon = await startDaemon()
    token = await daemon.token('write')
    const made = await call('POST', '/api/v1/connections', { name: 'Bank' })
    connection = made.json['id'] as string
  })
  after(() => daemon.close())

  it('a challenge: 201 with the word and the displayed purpose; without a body, for any connection', async () => {
    const { status, json } = await call('POST', '/api/v1/verify/challenges', {
      connection_id: connection,
      purpose: PURPOSE,
    })
    assert.equal(status, 201)
    assert.partialDeepStrictEqual(json, { connection_id: connection, purpose: 'canary12000' })
    assert.match(String(json['id']), /^chl_[0-9a-z]{26}$/)
    assert.match(String(json['word']), /^[a-z]{4,9}$/)
    const any = await call('POST', '/api/v1/verify/challenges')
    assert.partialDeepStrictEqual(any.json, { connection_id: null, purpose: '' })
  })

  it('takes one try: 200, then 409', async () => {
    const drawn = await call('POST', '/api/v1/verify/challenges', { purpose: PURPOSE })
    const body = { words: WRONG, challenge_id: drawn.json['id'] }
    const first = await call('POST', '/api/v1/verify', body)
    assert.equal(first.status, 200)
    assert.partialDeepStrictEqual(first.json, { verified: false, purpose: 'canary12000' })
    const second = await call('POST', '/api/v1/verify', body)
    assert.deepEqual(
      [second.status, second.json['error'], second.json['state']],
      [409, 'invalid_state', 'used'],
    )
  })

  it('a token that reaches its limit does not end challenges of the command line', async () => {
    const path = '/api/v1/verify/challenges'
    const owner = daemon.owner()
    const drawn = await call('POST', path, { connection_id: connection }, owner)
    let last = await call('POST', path)
    for (let i = 0; i < 5 && last.status === 201; i++) last = await call('POST', path)
    assert.deepEqual([last.status, last.json['error']], [429, 'rate_limited'])
    const body = { words: WRONG, challenge_id: drawn.json['id'] }
    assert.equal((await call('POST', '/api/v1/verify', body, owner)).status, 200)
    assert.equal((await call('POST', path, {}, owner)).status, 201)
  })

  const chl = newId('chl_', AT)
  const refused: [name: string, path: string, body: unknown, status: number, error: string][] = [
    [
      'an unknown challenge',
      '/api/v1/verify',
      { words: WRONG, challenge_id: chl },
      404,
      'not_found',
    ],
    [
      'a malformed id',
      '/api/v1/verify',
      { words: WRONG, challenge_id: 'x' },
      422,
      'validation_failed',
    ],
    [
      'a challenge with an expected person',
      '/api/v1/verify',
      { words: WRONG, challenge_id: chl, expect: { user_id: newId('acc_', AT) } },
      422,
      'validation_failed',
    ],
    [
      'an unknown connection',
      '/api/v1/verify/challenges',
      { connection_id: newId('con_', AT) },
      404,
      'not_found',
    ],
    [
      'a guest code',
      '/api/v1/verify/challenges',
      { connection_id: newId('gst_', AT) },
      422,
      'validation_failed',
    ],
    ['65 letters', '/api/v1/verify/challenges', { purpose: 'ä'.repeat(65) }, 422, 'too_long'],
    [
      'half a surrogate pair',
      '/api/v1/verify/challenges',
      { purpose: '\ud800' },
      422,
      'validation_failed',
    ],
    [
      'more than 500 characters',
      '/api/v1/verify/challenges',
      { purpose: '-'.repeat(501) },
      422,
      'validation_failed',
    ],
    [
      'a public look-up',
      '/api/v1/verify/public',
      { words: WRONG, challenge_id: chl },
      422,
      'validation_failed',
    ],
  ]
  for (const [name, path, body, status, error] of refused)
    it(`${name}: ${status}`, async () => {
      const answer = await call('POST', path, body)
      assert.deepEqual([answer.status, answer.json['error']], [status, error])
    })

  const queries: [query: string, error: string][] = [
    ['purpose=pay', 'validation_failed'],
    [`listener=${newId('acc_', AT)}`, 'validation_failed'],
    ['challenge=matador', 'validation_failed'],
    ['challenge=matadore', 'unknown_word'],
    ['challenge=matador+carload', 'word_count'],
    ['challenge=', 'word_count'],
    [`challenge=matador&purpose=${'a'.repeat(65)}`, 'too_long'],
    ['challenge=matador&challenge=carload', 'validation_failed'],
    ['word=matador', 'validation_failed'],
  ]
  for (const [query, error] of queries)
    it(`code?${query.slice(0, 40)}: 422 ${error}`, async () => {
      const answer = await call('GET', `/api/v1/connections/${connection}/code?${query}`)
      assert.deepEqual([answer.status, answer.json['error']], [422, error])
    })

  it('drawing needs a write token, and reading own words does not', async () => {
    const reading = await daemon.token('read')
    const drawn = await call('POST', '/api/v1/verify/challenges', {}, reading)
    assert.deepEqual([drawn.status, drawn.json['error']], [403, 'insufficient_scope'])
    const path = `/api/v1/connections/${connection}/code`
    assert.equal((await call('GET', path, undefined, reading)).status, 200)
    const asked = await call('GET', `${path}?challenge=matador`, undefined, reading)
    // The connection has no other member to listen.
    assert.equal(asked.json['error'], 'validation_failed')
  })

  it('no log contains a purpose: not the log, the audit log or the verification log', async () => {
    await call('GET', `/api/v1/connections/${connection}/code?challenge=matador&purpose=Canary+1`)
    const { json } = await call('GET', '/api/v1/verification-log')
    const audit = readFileSync(join(daemon.stateDir, 'audit.jsonl'), 'utf8')
    assert.match(audit, /POST \/api\/v1\/verify\/challenges/)
    assert.match(daemon.log.join('\n'), /POST \/api\/v1\/verify\/challenges/)
    for (const text of [audit, daemon.log.join('\n'), JSON.stringify(json)])
      assert.doesNotMatch(text, /canary/i)
  })
})

/** `expect` of a check of words, over HTTP. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newId } from '../../src/crypto/id.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'

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
    { guest_code_id: newId('gst_', AT) },
    { connection_id: con, name: 'Bank' },
  ])
    it(`${JSON.stringify(expect)}: 422`, async () => {
      const { status, json } = await ask(expect)
      assert.deepEqual([status, json['error']], [422, 'validation_failed'])
      const [{ path } = { path: '' }] = json['issues'] as { path: string }[]
      assert.match(path, /^expect/)
    })

  for (const [name, expect] of [
    ['a connection of nobody', () => ({ connection_id: con })],
    ['an account that is in no connection', () => ({ user_id: acc })],
    ['the own account', () => ({ user_id: own.account })],
  ] as const)
    it(`${name}: 404`, async () => {
      const { status, json } = await ask(expect())
      assert.deepEqual([status, json['error']], [404, 'not_found'])
    })

  it('a connection: 200, of its words alone', async () => {
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

  it('does not make "verify/public" tell anybody whom the person expects', async () => {
    const { status } = await daemon.request('POST', '/api/v1/verify/public', {
      token,
      body: { words: WRONG, expect: { connection_id: own.connection } },
    })
    assert.equal(status, 422)
  })
})

/**
 * Tests that a path has one spelling: no other one reaches a route that the token does not allow.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CLOSE,
  JSON_TYPE,
  NEW_TOKEN,
  ask1,
  daemon,
  only,
  refused,
  withDaemon,
  write,
} from './guarding.ts'
import { answersIn, hostOf, send } from './raw.ts'

withDaemon()

/** Checks that none of the methods reaches a route. */
async function assertNothing(
  path: string,
  token: string,
  methods = ['GET', 'POST', 'DELETE'],
): Promise<void> {
  for (const method of methods) {
    const lines = [
      `${method} ${path} HTTP/1.1`,
      `Host: ${hostOf(daemon.address)}`,
      `Authorization: Bearer ${token}`,
      CLOSE,
    ]
    const sent = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
    const answer = only(answersIn(await send(daemon.address, sent)))
    assert(answer.status === 400 || answer.status === 404, `${method}: ${answer.status}`)
  }
}

describe('paths', () => {
  const confusing = [
    '/api/v1/%6frg/members',
    '/api/v1/%6Frg/members',
    '/api/v1/o%72g/members',
    '/api/v1//org/members',
    '//api/v1/org/members',
    '/api/v1/./org/members',
    '/api/v1/tags/../org/members',
    '/api/v1/tags/%2e%2e/org/members',
    '/api/v1/tags/..%2forg/members',
    '/api/v1/tags%2f..%2forg/members',
    '/api/v1/org;x/members',
    '/api/v1/org/members;x',
    '/api/v1/tags;/../org/members',
    '/api/v1\\org\\members',
    '/api/v1/org%5cmembers',
    '/api/v1/org%2fmembers',
    '/api/v1/ORG/members',
    '/API/v1/org/members',
    '/api/v1/Org/members',
    '/api/v1/org/members/',
    '/api/v1/org/',
    '/api/v1/org%00/members',
    '/api/v1/org%20/members',
    '/api/v1/org+/members',
    '/api/v1/ørg/members',
    '/api/v1/org/members#x',
    '/api/v1/org/members%3fx',
    '/api/v1/%00/org/members',
    '/api/v1/tags/%2e%2e%2forg%2fmembers',
    '/./api/v1/org/members',
    '/../api/v1/org/members',
    '/api/v1/org./members',
    '/api/v1/org~/members',
    '/api/v1/api-tokens/',
    '/api/v1/%61pi-tokens',
    '/api/v1/api%2dtokens',
    '/api/v1//api-tokens',
    '/api/v1/API-TOKENS',
    '/api/v1/x/../api-tokens',
  ]
  for (const path of confusing)
    test(`a write token gets nothing at ${path}`, () => assertNothing(path, write))

  // Reading webhooks needs write, unlike other GETs.
  for (const path of [
    '/api/v1/webhooks/',
    '/api/v1/%77ebhooks',
    '/api/v1//webhooks',
    '/api/v1/WEBHOOKS',
    '/api/v1/webhooks;x',
    '/api/v1/tags/../webhooks',
    '/api/v1/tags%2f..%2fwebhooks',
  ])
    test(`a read token gets nothing at ${path}`, async () =>
      assertNothing(path, await daemon.token('read'), ['GET']))

  test('the token route has one spelling', async () => {
    for (const path of [
      '/api/v1/%74oken',
      '/api/v1/token/',
      '/api//v1/token',
      '/api/v1/Token',
      '/api/v1/./token',
    ]) {
      const answers = await ask1(
        'address',
        (host) => [
          `POST ${path} HTTP/1.1`,
          `Host: ${host}`,
          'Origin: null',
          CLOSE,
          JSON_TYPE,
          `Content-Length: ${NEW_TOKEN.length}`,
        ],
        NEW_TOKEN,
      )
      refused(answers, 403, 'origin_not_allowed')
      const { status } = await daemon.request('POST', path, { body: NEW_TOKEN })
      assert([400, 401, 404].includes(status), `${path}: ${status}`)
    }
  })
})

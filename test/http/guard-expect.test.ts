/** Tests Expect: the server asks for a body (100) only if the guard and the route accept it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CLOSE,
  JSON_TYPE,
  LISTENERS,
  NEW_TOKEN,
  ask1,
  only,
  refused,
  withDaemon,
} from './guarding.ts'

withDaemon()

describe('Expect', () => {
  const post = (lines: string[], host?: string, body = '') =>
    ask1(
      'address',
      (own) => ['POST /api/v1/token HTTP/1.1', `Host: ${host ?? own}`, ...lines],
      body,
    )
  const CONTINUE = 'Expect: 100-continue'

  test('an unknown expectation → 417, after the guard', async () => {
    for (const at of LISTENERS) {
      const lines = (host: string) => [
        'POST /health HTTP/1.1',
        `Host: ${host}`,
        'Expect: x',
        'Content-Length: 2',
      ]
      refused(await ask1(at, lines), 417, 'expectation_failed')
      refused(await ask1(at, () => lines('evil.example')), 403, 'host_not_allowed')
      refused(await ask1(at, (host) => [...lines(host), 'Origin: null']), 403, 'origin_not_allowed')
    }
  })

  // `only` and `refused` count every answer, so they would detect a 100.
  test('no 100 before the guard', async () => {
    refused(
      await post([CONTINUE, JSON_TYPE, 'Content-Length: 2'], 'evil.example'),
      403,
      'host_not_allowed',
    )
    refused(
      await post([CONTINUE, JSON_TYPE, 'Content-Length: 2', 'Origin: null']),
      403,
      'origin_not_allowed',
    )
  })

  test('no 100 for a rejected body', async () => {
    refused(
      await post([CONTINUE, 'Content-Type: text/plain', 'Content-Length: 2']),
      415,
      'unsupported_media_type',
    )
    refused(await post([CONTINUE, JSON_TYPE, 'Content-Length: 1048577']), 413, 'payload_too_large')
    const lines = (start: string) => (host: string) => [
      start,
      `Host: ${host}`,
      CONTINUE,
      JSON_TYPE,
      'Content-Length: 2',
    ]
    refused(await ask1('address', lines('POST /api/v1/connections HTTP/1.1')), 401, 'unauthorized')
    refused(await ask1('address', lines('POST /health HTTP/1.1')), 405, 'method_not_allowed')
    assert.equal(
      only(await ask1('address', (host) => [...lines('GET /health HTTP/1.1')(host), CLOSE], '{}'))
        .status,
      200,
    )
  })

  test('100 for an accepted body', async () => {
    const answers = await post(
      [CONTINUE, CLOSE, JSON_TYPE, `Content-Length: ${NEW_TOKEN.length}`],
      undefined,
      NEW_TOKEN,
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [100, 201],
    )
  })
})

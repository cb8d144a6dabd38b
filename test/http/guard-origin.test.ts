/** Tests which browser requests are accepted, by Origin and Fetch Metadata, on both listeners. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CLOSE,
  JSON_TYPE,
  NEW_TOKEN,
  ask1,
  daemon,
  errorOf,
  only,
  portOf,
  withDaemon,
} from './guarding.ts'
import { exchange, hostOf } from './raw.ts'

withDaemon()

describe('Origin and Fetch Metadata', () => {
  type Case = [name: string, start: string, lines: string[], status: number]
  const api: Case[] = [
    ['no browser', 'GET /health', [], 200],
    ['Node’s fetch', 'GET /health', ['Sec-Fetch-Mode: cors'], 200],
    ['the own page', 'GET /health', ['Origin: SELF', 'Sec-Fetch-Site: same-origin'], 200],
    ['the address bar', 'GET /health', ['Sec-Fetch-Site: none', 'Sec-Fetch-Mode: navigate'], 200],
    ['a page of another origin', 'GET /health', ['Origin: https://evil.example'], 403],
    ['a page without an origin', 'GET /health', ['Origin: null'], 403],
    ['an empty Origin', 'GET /health', ['Origin:'], 403],
    ['another port of this machine', 'GET /health', ['Origin: http://localhost:3000'], 403],
    ['the other name of this machine', 'GET /health', ['Origin: OTHER'], 403],
    ['the own origin with https', 'GET /health', ['Origin: SECURE'], 403],
    ['a path after the own origin', 'GET /health', ['Origin: SELF/'], 403],
    ['two Origins', 'GET /health', ['Origin: SELF', 'Origin: https://evil.example'], 403],
    ['an extension', 'GET /health', ['Origin: chrome-extension://abcdefghijklmnop'], 403],
    ['another site', 'GET /health', ['Sec-Fetch-Site: cross-site'], 403],
    ['another port, by Fetch Metadata', 'GET /health', ['Sec-Fetch-Site: same-site'], 403],
    ['an unknown Sec-Fetch-Site', 'GET /health', ['Sec-Fetch-Site: x'], 403],
    [
      'two Sec-Fetch-Sites',
      'GET /health',
      ['Sec-Fetch-Site: none', 'Sec-Fetch-Site: cross-site'],
      403,
    ],
    [
      'a link to the API',
      'GET /api/v1/status',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    [
      'a link to the docs',
      'GET /api/v1/docs',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      200,
    ],
    [
      'a link to the docs from another port',
      'GET /api/v1/docs',
      ['Sec-Fetch-Site: same-site', 'Sec-Fetch-Mode: navigate'],
      200,
    ],
    [
      'a script that fetches the docs',
      'GET /api/v1/docs',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'],
      403,
    ],
    [
      'a form posted to the docs',
      'POST /api/v1/docs',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    [
      'HEAD of the docs from elsewhere',
      'HEAD /api/v1/docs',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    [
      'a path that only begins like the docs',
      'GET /api/v1/docs.x',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    ['a service worker', 'GET /health', ['Service-Worker: script'], 403],
    [
      'a service worker of the own page',
      'GET /api/v1/docs',
      ['Origin: SELF', 'Service-Worker: script'],
      403,
    ],
    [
      'a preflight',
      'OPTIONS /api/v1/token',
      ['Origin: https://evil.example', 'Access-Control-Request-Method: POST'],
      403,
    ],
    [
      'a preflight for a private network',
      'OPTIONS /api/v1/tags',
      ['Origin: https://evil.example', 'Access-Control-Request-Private-Network: true'],
      403,
    ],
    [
      'minting from the own page',
      'POST /api/v1/token',
      ['Origin: SELF', 'Sec-Fetch-Site: same-origin'],
      403,
    ],
    ['minting with the own Origin alone', 'POST /api/v1/token', ['Origin: SELF'], 403],
    ['minting with Sec-Fetch-Site alone', 'POST /api/v1/token', ['Sec-Fetch-Site: none'], 403],
    ['minting by Node’s fetch', 'POST /api/v1/token', ['Sec-Fetch-Mode: cors'], 201],
    ['minting without a browser', 'POST /api/v1/token', [], 201],
  ]
  const site: Case[] = [
    [
      'a link in a mail',
      'GET /g/x',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      404,
    ],
    [
      'a link to a stamp',
      'GET /s/x',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      404,
    ],
    ['the page’s own script', 'GET /assets/guest.js', ['Sec-Fetch-Site: same-origin'], 200],
    [
      'a script from elsewhere',
      'GET /assets/guest.js',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'],
      403,
    ],
    [
      'a link to a file',
      'GET /s/x/file',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    ['a fetch from elsewhere', 'GET /g/x', ['Origin: https://evil.example'], 403],
    ['a form from elsewhere', 'POST /g/x/opened', ['Origin: https://evil.example'], 403],
    [
      'a form without an origin',
      'POST /g/x/opened',
      ['Origin: null', 'Sec-Fetch-Site: cross-site'],
      403,
    ],
    [
      'a link to what is not a page',
      'GET /device/v1/clock',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    ['a service worker', 'GET /assets/guest.js', ['Service-Worker: script'], 403],
  ]

  for (const [at, cases] of [
    ['address', api],
    ['accountAddress', site],
  ] as const)
    for (const [name, start, lines, status] of cases)
      test(`${at}: ${name} → ${status}`, async () => {
        const host = hostOf(daemon[at])
        const other = `localhost:${portOf(daemon[at])}`
        const sent = lines.map((line) =>
          line
            .replace('SELF', `http://${host}`)
            .replace('OTHER', `http://${other}`)
            .replace('SECURE', `https://${host}`),
        )
        const mints = start === 'POST /api/v1/token'
        const answer = only(
          await exchange(
            daemon[at],
            [
              `${start} HTTP/1.1`,
              `Host: ${host}`,
              CLOSE,
              ...sent,
              ...(mints ? [JSON_TYPE, `Content-Length: ${NEW_TOKEN.length}`] : []),
            ],
            mints ? NEW_TOKEN : '',
          ),
        )
        assert.equal(answer.status, status)
        if (status === 403 && !start.startsWith('HEAD'))
          assert.equal(errorOf(answer), 'origin_not_allowed')
        if (status !== 201) assert(!/csd_/.test(answer.body))
      })

  /** Requests by a host name that other programs on this machine share. */
  const shared: [name: string, start: string, lines: string[], status: number][] = [
    ['a script', 'GET /health', [], 200],
    ['Node’s fetch', 'GET /health', ['Sec-Fetch-Mode: cors'], 200],
    ['a page of that origin', 'GET /health', ['Sec-Fetch-Site: same-origin'], 403],
    ['its Origin', 'POST /no/such', ['Origin: NAMED'], 403],
    ['its Origin and more', 'GET /health', ['Origin: NAMED', 'Sec-Fetch-Site: same-origin'], 403],
    [
      'a page that it opens',
      'GET /PAGE',
      ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    [
      'a page of the address itself',
      'GET /health',
      ['Origin: SELF', 'Sec-Fetch-Site: same-site'],
      403,
    ],
    ['the address bar', 'GET /PAGE?a=b', ['Sec-Fetch-Site: none', 'Sec-Fetch-Mode: navigate'], 307],
    [
      'a link from elsewhere',
      'GET /PAGE',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      307,
    ],
    [
      'the address bar, with a path that is none',
      'GET //evil.example',
      ['Sec-Fetch-Site: none', 'Sec-Fetch-Mode: navigate'],
      400,
    ],
  ]
  for (const [at, page] of [
    ['address', 'api/v1/docs'],
    ['accountAddress', 'g/x'],
  ] as const)
    for (const [name, start, lines, status] of shared)
      test(`${at}, asked as localhost: ${name} → ${status}`, async () => {
        const host = hostOf(daemon[at])
        const named = `localhost:${portOf(daemon[at])}`
        const sent = lines.map((line) =>
          line.replace('SELF', `http://${host}`).replace('NAMED', `http://${named}`),
        )
        const target = start.replace('PAGE', page)
        const { headers, ...answer } = only(
          await exchange(daemon[at], [`${target} HTTP/1.1`, `Host: ${named}`, CLOSE, ...sent]),
        )
        assert.equal(answer.status, status)
        const path = target.slice(target.indexOf('/'))
        assert.equal(headers['location'], status === 307 ? `http://${host}${path}` : undefined)
      })

  test('a rejected browser has not minted a token', async () => {
    const full = await daemon.token('full')
    const count = async () =>
      (
        (await daemon.request('GET', '/api/v1/api-tokens?limit=200', { token: full })).json as {
          items: []
        }
      ).items.length
    const before = await count()
    for (const lines of [['Origin: https://evil.example'], ['Sec-Fetch-Site: same-origin']])
      await ask1(
        'address',
        (host) => [
          'POST /api/v1/token HTTP/1.1',
          `Host: ${host}`,
          CLOSE,
          JSON_TYPE,
          ...lines,
          `Content-Length: ${NEW_TOKEN.length}`,
        ],
        NEW_TOKEN,
      )
    assert.equal(await count(), before)
  })
})

/** Tests the exchange of a code for a console's token, as pages and programs attack it. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { signCompact } from '../../src/crypto/jose/jws-signature.ts'
import type { ConsoleCode, ConsoleSession } from '../../src/api/console/index.ts'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import {
  CODES,
  newCode,
  newKey,
  newPage,
  ownHeaders,
  type Page,
  SESSION,
  VISITING,
} from './page.ts'

let daemon: TestDaemon
before(async () => (daemon = await startDaemon()))
after(() => daemon.close())

const codeOf = ({ json }: Answer) => (json as { error?: string } | undefined)?.error
const refusal = (answer: Answer) => [answer.status, codeOf(answer)]

/** Sends a code with other headers than a browser adds; null leaves a header out. */
async function exchange(code: string, over: Record<string, string | null> = {}): Promise<Answer> {
  const page = newPage(daemon)
  // The first answer gives the page its nonce.
  await page.send('GET', '/api/v1/status')
  const headers = {
    ...ownHeaders(daemon.address),
    DPoP: await page.proof('POST', SESSION),
    ...over,
  }
  const sent = Object.entries(headers).filter(([, value]) => value !== null)
  return daemon.request('POST', SESSION, {
    body: { code },
    headers: Object.fromEntries(sent) as Record<string, string>,
  })
}

describe('a code', () => {
  it('gets a token that is bound to the key of the page', async () => {
    const page = newPage(daemon)
    const session = await page.open()
    assert.match(session.token, /^csd_/)
    assert.deepEqual([session.scope, session.full_until, session.idle_s], ['write', null, 1800])
    const minutes = (Date.parse(session.expires_at) - Date.parse(session.now)) / 60_000
    assert.equal(Math.floor(minutes), 12 * 60)
    assert.equal((await page.send('GET', '/api/v1/status')).status, 200)
  })

  for (const scope of ['read', 'write', 'full'] as const)
    it(`gives the scope that it was made for: ${scope}`, async () => {
      const page = newPage(daemon)
      const session = await page.open(scope)
      assert.equal(session.scope, scope)
      assert.equal(session.full_until !== null, scope === 'full')
      const may = async (method: string, path: string, body: object) =>
        (await page.send(method, path, { body })).status !== 403
      assert.equal(await may('POST', '/api/v1/guest-codes', { label: 'Ann' }), scope !== 'read')
      const name = { name: 'n', scope: 'read' }
      assert.equal(await may('POST', '/api/v1/api-tokens', name), scope === 'full')
    })

  it('is refused if no browser opened its link, and then has ended', async () => {
    for (const headers of [
      null,
      {},
      { 'Sec-Fetch-Dest': 'empty' },
      { 'Sec-Fetch-Dest': 'iframe' },
      { ...VISITING, 'Service-Worker-Navigation-Preload': 'true' },
    ]) {
      const { json } = await daemon.request('POST', CODES, { body: {} })
      const { code, visit } = json as ConsoleCode
      const path = `/console/open/${visit}`
      if (headers !== null) await daemon.request('GET', path, { headers })
      assert.deepEqual(refusal(await exchange(code)), [403, 'forbidden'])
      await daemon.request('GET', path, { headers: VISITING })
      assert.deepEqual(refusal(await exchange(code)), [403, 'forbidden'])
    }
  })

  it('is used once', async () => {
    const { code } = await newCode(daemon)
    assert.equal((await exchange(code)).status, 201)
    const again = await exchange(code)
    assert.deepEqual(refusal(again), [403, 'forbidden'])
    assert.deepEqual(
      (await exchange('x'.repeat(43))).text.replace(/"request_id.*/, ''),
      again.text.replace(/"request_id.*/, ''),
    )
  })

  it('ends after five wrong codes, and others with it', async () => {
    const [one, two] = [await newCode(daemon), await newCode(daemon)]
    for (let i = 0; i < 4; i++)
      assert.deepEqual(refusal(await exchange('wrong')), [403, 'forbidden'])
    assert.equal((await exchange(one.code)).status, 201)
    assert.deepEqual(refusal(await exchange('wrong')), [403, 'forbidden'])
    assert.deepEqual(refusal(await exchange(two.code)), [403, 'forbidden'])
  })
})

describe('the exchange is only for the own page', () => {
  const port = () => new URL(daemon.address).port
  const foreign: [name: string, headers: () => Record<string, string | null>][] = [
    ['no Origin', () => ({ Origin: null })],
    ['Origin null', () => ({ Origin: 'null' })],
    ['another port', () => ({ Origin: 'http://127.0.0.1:3000' })],
    ['localhost', () => ({ Origin: `http://localhost:${port()}` })],
    ['[::1]', () => ({ Origin: `http://[::1]:${port()}` })],
    ['https', () => ({ Origin: `https://127.0.0.1:${port()}` })],
    ['another site', () => ({ Origin: 'https://evil.example' })],
    ['an extension', () => ({ Origin: 'chrome-extension://abcdefgh' })],
    ['no Sec-Fetch-Site', () => ({ 'Sec-Fetch-Site': null })],
    ['neither', () => ({ 'Sec-Fetch-Site': null, Origin: null })],
    ...['none', 'same-site', 'cross-site', 'same-origin, none', ''].map(
      (site): [string, () => Record<string, string>] => [
        `Sec-Fetch-Site: ${site}`,
        () => ({ 'Sec-Fetch-Site': site }),
      ],
    ),
  ]
  for (const [name, headers] of foreign)
    it(name, async () => {
      const { code } = await newCode(daemon)
      const answer = await exchange(code, headers())
      assert.deepEqual(refusal(answer), [403, 'origin_not_allowed'])
      assert(!Object.keys(answer.headers).some((field) => field.startsWith('access-control')))
      // The code was not used.
      assert.equal((await exchange(code)).status, 201)
    })

  it('localhost as Host', async () => {
    const { code } = await newCode(daemon)
    const host = `localhost:${port()}`
    const answer = await exchange(code, { Host: host, Origin: `http://${host}` })
    assert.deepEqual(refusal(answer), [403, 'origin_not_allowed'])
  })

  it('and codes are not for browsers', async () => {
    for (const headers of [
      ownHeaders(daemon.address),
      { 'Sec-Fetch-Site': 'none' },
      { Origin: daemon.address },
    ]) {
      const answer = await daemon.request('POST', CODES, { body: {}, headers })
      assert.deepEqual(refusal(answer), [403, 'origin_not_allowed'])
      assert.equal(
        codeOf(await daemon.request('POST', '/api/v1/token', { body: {}, headers })),
        'origin_not_allowed',
      )
    }
  })
})

describe('the exchange needs a proof', () => {
  const wrong: [name: string, error: RegExp, proof: (page: Page) => Promise<string | null>][] = [
    ['none', /use_dpop_nonce/, async () => null],
    ['for another method', /invalid_dpop_proof/, (page) => page.proof('PUT', SESSION)],
    ['for another path', /invalid_dpop_proof/, (page) => page.proof('POST', '/api/v1/token')],
    [
      'for another port',
      /invalid_dpop_proof/,
      (page) => page.proof('POST', SESSION, undefined, { url: `http://127.0.0.1:1${SESSION}` }),
    ],
    [
      'for localhost',
      /invalid_dpop_proof/,
      (page) =>
        page.proof('POST', SESSION, undefined, {
          url: `${daemon.address.replace('127.0.0.1', 'localhost')}${SESSION}`,
        }),
    ],
    ['with a token', /invalid_dpop_proof/, (page) => page.proof('POST', SESSION, 'csd_x')],
    [
      'from an hour ago',
      /invalid_dpop_proof/,
      (page) =>
        page.proof('POST', SESSION, undefined, { at: Math.floor(Date.now() / 1000) - 3600 }),
    ],
    [
      'without a nonce',
      /use_dpop_nonce/,
      (page) => page.proof('POST', SESSION, undefined, { nonce: undefined }),
    ],
    [
      'with a nonce of another run',
      /use_dpop_nonce/,
      (page) => page.proof('POST', SESSION, undefined, { nonce: 'A'.repeat(22) }),
    ],
    [
      'with the private key in it',
      /invalid_dpop_proof/,
      async ({ key }) => {
        const d = Buffer.from(key.secret).toString('base64url')
        const header = { alg: 'Ed25519', typ: 'dpop+jwt', jwk: { ...key.jwk, d } }
        const claims = {
          jti: 'e1j3V_bKic8-LAEB',
          htm: 'POST',
          htu: daemon.address + SESSION,
          iat: Math.floor(Date.now() / 1000),
        }
        return signCompact(header, claims, key.secret)
      },
    ],
    [
      'signed by another key',
      /invalid_dpop_proof/,
      async ({ key }) => {
        const header = { alg: 'Ed25519', typ: 'dpop+jwt', jwk: key.jwk }
        const claims = {
          jti: 'e1j3V_bKic8-LAEB',
          htm: 'POST',
          htu: daemon.address + SESSION,
          iat: Math.floor(Date.now() / 1000),
        }
        return signCompact(header, claims, newKey().secret)
      },
    ],
    ['no JWT', /invalid_dpop_proof/, async () => 'x'],
  ]
  for (const [name, error, make] of wrong)
    it(name, async () => {
      const page = newPage(daemon)
      await page.send('GET', '/api/v1/status')
      const proof = await make(page)
      const { code } = await newCode(daemon)
      const answer = await exchange(code, { DPoP: proof })
      assert.deepEqual(refusal(answer), [401, 'invalid_token'])
      assert.match(answer.headers['www-authenticate'] ?? '', error)
      assert.match(answer.headers['dpop-nonce'] as string, /^[\w-]{22}$/)
      // The code was not used.
      assert.equal((await exchange(code)).status, 201)
    })
})

it('the token has a name from the browser, and nothing of its header', async () => {
  const agents: [agent: string, name: string][] = [
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
      'Console, Chromium on Linux',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:143.0) Gecko/20100101 Firefox/143.0',
      'Console, Firefox on macOS',
    ],
    ['<script>alert(1)</script>\u00e4', 'Console, unknown browser'],
  ]
  const owner = daemon.owner()
  for (const [agent, name] of agents) {
    const { code } = await newCode(daemon)
    const answer = await exchange(code, { 'User-Agent': agent })
    const { id } = answer.json as ConsoleSession
    const { json } = await daemon.request('GET', '/api/v1/api-tokens', { token: owner })
    const { items } = json as { items: { id: string; name: string; bound: boolean }[] }
    const { name: shown, bound } = items.find((one) => one.id === id) ?? assert.fail()
    assert.deepEqual([shown, bound], [name, true])
  }
})

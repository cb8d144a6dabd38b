/**
 * Tokens that are invalid: the answer does not show why; and tokens in wrong places: no answer
 * repeats them.
 */
import type { RawAnswer } from '../http/raw.ts'
import { type Attack, CLOSE, JSON_TYPE, isRoute, requestTo, takesBody } from './attack.ts'
import { type Listener, type Target, nameOf } from './routes.ts'
import type { Scene } from './scene.ts'
import type { Shot } from './wire.ts'

/** Returns an answer without the parts that differ between any two. */
function describe({ status, headers, body }: RawAnswer): string {
  const { 'x-request-id': _, date: __, ...rest } = headers
  return JSON.stringify([status, rest, body])
}

const tokenOf = async (scene: Scene, listener: Listener, name: string) => {
  const [line = ''] = await scene.caller(listener, name).lines('GET', '/')
  return line.slice(line.lastIndexOf(' ') + 1)
}

/** Guesses of tokens. The answer may show only that they are wrong. */
const GUESSES: Readonly<Record<string, (scene: Scene) => Promise<string[]>>> = {
  'the daemon’s': async (scene) => {
    const revoked = await tokenOf(scene, 'api', 'a revoked token')
    const good = await tokenOf(scene, 'api', 'full')
    return [
      revoked,
      await tokenOf(scene, 'api', 'an unknown token'),
      await tokenOf(scene, 'api', 'an expired token'),
      'csd_x',
      'x',
      good.slice(0, -1),
      `${good}0`,
      good.toUpperCase(),
      `"${good}"`,
      `${good},${good}`,
      `csd_${'0'.repeat(36)}`,
    ]
  },
  'a machine’s': async (scene) => {
    const revoked = await tokenOf(scene, 'api', 'a revoked machine’s token')
    const good = await tokenOf(scene, 'api', 'machine full')
    return [
      revoked,
      await tokenOf(scene, 'api', 'an unknown machine’s token'),
      'csm_x',
      good.slice(0, -1),
      `${good}0`,
    ]
  },
}

/** Each guess at a route gets the same answer as the first one there. */
const guesses = Object.entries(GUESSES).map(([subject, guessesOf]): Attack => {
  const first = new Map<string, string>()
  return {
    row: 'Token guessing',
    name: `wrong tokens that look like ${subject} get the same error`,
    on: (target) =>
      target.need !== 'none' && (target.listener === 'api' || subject === 'a machine’s'),
    shots: async (target, scene) =>
      (await guessesOf(scene)).map((token) => ({
        bytes: requestTo(target, scene, { lines: [`Authorization: Bearer ${token}`] }),
        want: /^401 invalid_token$/,
        check: (answer) => {
          const key = scene.at.api.address + nameOf(target)
          const before = first.get(key) ?? describe(answer)
          first.set(key, before)
          return describe(answer) === before ? null : `it differs from ${before}`
        },
      })),
  }
})

type Place = readonly [name: string, shot: (token: string) => Parameters<typeof requestTo>[2]]

const PLACES: readonly Place[] = [
  ['the query', (token) => ({ path: `?access_token=${token}` })],
  ['the name of a header', (token) => ({ lines: [`${token}: x`] })],
  [
    'other headers',
    (token) => ({
      lines: [
        `X-Api-Key: ${token}`,
        `Proxy-Authorization: Bearer ${token}`,
        `User-Agent: ${token}`,
        `Accept: ${token}`,
      ],
    }),
  ],
  ['another scheme', (token) => ({ lines: [`Authorization: Token ${token}`] })],
  ['no scheme', (token) => ({ lines: [`Authorization: ${token}`] })],
  ['a tab behind the scheme', (token) => ({ lines: [`Authorization: Bearer\t${token}`] })],
  [
    'two Authorizations',
    (token) => ({ lines: ['Authorization: Basic eDp4', `Authorization: Bearer ${token}`] }),
  ],
  ['an Idempotency-Key', (token) => ({ lines: [`Idempotency-Key: ${token} ${token}`] })],
  ['an Origin', (token) => ({ lines: [`Origin: http://${token}`] })],
  ['a Host', (token) => ({ host: token })],
  ['an expectation', (token) => ({ lines: [`Expect: ${token}`] })],
]

const placed = PLACES.map(([name, sentOf]): Attack => ({
  row: 'Leaks',
  name: `a token in ${name}`,
  // Public routes answer with any header, so their writes are left out.
  on: (target) => isRoute(target) && (target.need !== 'none' || target.method === 'GET'),
  shots: async (target, scene) => {
    const { path, lines = [], ...rest } = sentOf(await tokenOf(scene, 'api', 'full')) ?? {}
    const sent = { ...rest, path: target.path + (path ?? target.query), lines: [...lines, CLOSE] }
    return [
      {
        bytes: requestTo(target, scene, sent),
        // A route without a need answers; the token has no effect.
        want:
          target.need === 'none'
            ? /^(?!5)/
            : /^(401 unauthorized|400 bad_request|403 (host|origin)_not_allowed|417 expectation_failed)$/,
        alone: true as const,
      },
    ]
  },
}))

const inPath: Attack = {
  row: 'Leaks',
  name: 'a token in the path',
  on: ({ route, need }) => route === null || need === 'full',
  shots: async (target, scene) => {
    const token = await tokenOf(scene, 'api', 'full')
    const path = `${target.path === '/' ? '' : target.path}/nothing/${token}`
    const names =
      target.listener === 'api' ? ['full', 'read', 'nobody'] : ['machine read', 'nobody']
    return Promise.all(
      names.map(async (name) => ({
        bytes: requestTo(target, scene, {
          path,
          lines: await scene.caller(target.listener, name).lines(target.method, path),
        }),
        want: name === 'nobody' ? /^401/ : /^(404|405|403)/,
      })),
    )
  },
}

const BODIES: readonly [name: string, body: (token: string) => string][] = [
  ['a value', (token) => `{"name":"${token}","nonsense":"${token}","scope":"${token}"}`],
  ['a name', (token) => `{"${token}":1}`],
  ['bad JSON', (token) => `{"name":${token}`],
  ['a text', (token) => `"${token}"`],
  ['invalid JSON', (token) => token],
]

const inBody = BODIES.map(([name, bodyOf]): Attack => ({
  row: 'Leaks',
  name: `a token in the body, as ${name}`,
  on: (target: Target) =>
    takesBody(target) && target.route?.form !== true && target.need !== 'none',
  shots: async (target, scene): Promise<Shot[]> => {
    const own = await scene.opens(target).lines(target.method, target.path)
    const body = bodyOf(await tokenOf(scene, 'api', 'write'))
    // No row has a member of that name, so no request has an effect.
    const bytes = requestTo(target, scene, { lines: [...own, JSON_TYPE, CLOSE], body })
    return [{ bytes, want: /^4/, alone: true }]
  },
}))

export const tokens: readonly Attack[] = [...guesses, ...placed, inPath, ...inBody]

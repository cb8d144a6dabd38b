/**
 * Every method that Node accepts on every path: methods that the path does not have are rejected,
 * with a token and without.
 */
import { METHODS } from 'node:http'
import { type Attack, askedBy, isRoute, requestTo } from './attack.ts'
import type { Target } from './routes.ts'

const takenBy = ({ methods }: Target) => (methods.includes('GET') ? [...methods, 'HEAD'] : methods)

/** One route is enough for a path. */
const on = (target: Target) => isRoute(target) && target.isFirst

const othersOf = (target: Target) =>
  METHODS.filter((method) => method !== 'CONNECT' && !takenBy(target).includes(method))

/** A header that no answer may repeat. */
export const CANARY = 'canary-5f1c'
const ECHO = `X-Echo: ${CANARY}`

const allowed = (target: Target, allow = '') =>
  allow.split(', ').toSorted().join() === takenBy(target).toSorted().join()
    ? null
    : `Allow: ${allow} is not what the path takes`

export const methods: readonly Attack[] = [
  {
    row: 'Methods',
    name: 'every other method, with a token for all of the path',
    on,
    shots: (target, scene) =>
      Promise.all(
        othersOf(target).map(async (method) => ({
          bytes: await askedBy(scene.opens(target), target, scene, { method, lines: [ECHO] }),
          // HEAD has no body for the error code.
          want: method === 'HEAD' ? /^405$/ : /^405 method_not_allowed$/,
          check: ({ headers }) => allowed(target, headers['allow']),
        })),
      ),
  },
  {
    row: 'Methods',
    name: 'every method, without a token',
    on: (target) => on(target) && target.need !== 'none',
    shots: (target, scene) =>
      METHODS.filter((method) => method !== 'CONNECT').map((method) => ({
        bytes: requestTo(target, scene, { method, lines: [ECHO] }),
        want: method === 'HEAD' ? /^401$/ : /^401 unauthorized$/,
      })),
  },
  {
    row: 'Methods',
    name: 'HEAD is answered like GET, without a body',
    on: (target) => isRoute(target) && target.method === 'GET',
    shots: async (target, scene) => [
      {
        bytes: await askedBy(scene.opens(target), target, scene, { method: 'HEAD', lines: [ECHO] }),
        want: /^(200|404|409|410|422)$/,
      },
    ],
  },
]

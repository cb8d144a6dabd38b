/** The console: the exchange of its code, and the start page, for pages of others. */
import { consoleTable } from '../../src/api/console/index.ts'
import { type Attack, CLOSE, JSON_TYPE, requestTo } from './attack.ts'
import { FOREIGN, type Lines, refused } from './origins.ts'
import { pageFault } from './pages.ts'
import type { Target } from './routes.ts'

const { path: EXCHANGE } = consoleTable.consoleSession.create

const isExchange = ({ listener, path, method }: Target) =>
  listener === 'api' && path === EXCHANGE && method === 'POST'
const isStart = ({ listener, path, method }: Target) =>
  listener === 'api' && (path === '/' || path.startsWith('/console/open/')) && method === 'GET'

/** A code in the right form. */
const GUESS = 'x'.repeat(43)
const EXCHANGED = JSON.stringify({ code: GUESS })

/** Headers of programs and of pages of this machine. */
const NOT_OURS: readonly Lines[] = [
  ['an empty Origin', () => ['Origin:']],
  ['our Origin alone', (own) => [`Origin: ${own}`]],
  ['Fetch Metadata alone', () => ['Sec-Fetch-Site: same-origin']],
  ['the address bar', (own) => [`Origin: ${own}`, 'Sec-Fetch-Site: none']],
  [
    'our other name',
    (_, port) => [`Origin: http://localhost:${port}`, 'Sec-Fetch-Site: same-origin'],
  ],
  ['[::1]', (_, port) => [`Origin: http://[::1]:${port}`, 'Sec-Fetch-Site: same-origin']],
]

const exchange = (name: string, shots: Attack['shots']): Attack => ({
  row: 'Exchange of the console',
  name,
  on: isExchange,
  shots,
})

export const consoleAttacks: readonly Attack[] = [
  ...[...NOT_OURS, ...FOREIGN].map((lines) =>
    refused('Exchange of the console', lines, isExchange, EXCHANGED),
  ),
  exchange('a guess without a proof', (target, scene) => [
    {
      bytes: requestTo(target, scene, { lines: [JSON_TYPE, CLOSE], body: EXCHANGED }),
      want: /^401 invalid_token$/,
      alone: true,
      check: ({ body }) => (body.includes(GUESS) ? 'it repeats the code' : null),
    },
  ]),
  {
    row: 'Start page',
    name: 'with a code in the query, from another site',
    on: isStart,
    shots: (target, scene) => [
      {
        bytes: requestTo(target, scene, {
          path: `${target.path}?k=${GUESS}`,
          lines: ['Accept: text/html', 'Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
        }),
        want: /^200$/,
        check: (answer) =>
          answer.body.includes(GUESS) ? 'it repeats the code' : pageFault(answer),
      },
    ],
  },
]

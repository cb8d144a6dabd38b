/** Headers of pages, of other origins and of our own, and bodies that a form can send. */
import { consoleTable } from '../../src/api/console/index.ts'
import { rest } from '../../src/api/rest/index.ts'
import {
  type Attack,
  CLOSE,
  JSON_TYPE,
  NEW_TOKEN,
  askedBy,
  everywhere,
  opened,
  portOf,
  requestTo,
  takesBody,
} from './attack.ts'
import { type Target, isLinked } from './routes.ts'

/** The routes with which a program gets a token without having one. */
const TOKEN_ROUTES: readonly string[] = [
  rest.token.create.path,
  consoleTable.consoleCodes.create.path,
]
const isMint = ({ listener, path, method }: Target) =>
  listener === 'api' && TOKEN_ROUTES.includes(path) && method === 'POST'

const SITE = 'Sec-Fetch-Site:'
const NAVIGATE = 'Sec-Fetch-Mode: navigate'

/** The name of an attack, and the header lines that it adds. */
export type Lines = readonly [name: string, lines: (own: string, port: string) => readonly string[]]

/** Rejected on the token route alone; `minting` by headers that any page can send. */
const OURS: readonly Lines[] = [
  ['our own page', (own) => [`Origin: ${own}`, `${SITE} same-origin`]],
  ['our own Origin', (own) => [`Origin: ${own}`]],
  ['our other name', (_, port) => [`Origin: http://localhost:${port}`]],
  ['Fetch Metadata of our own', () => [`${SITE} same-origin`]],
  ['Fetch Metadata of the address bar', () => [`${SITE} none`, NAVIGATE]],
  ['an empty Origin', () => ['Origin:']],
]

/** Headers of pages of other origins. */
export const FOREIGN: readonly Lines[] = [
  ['a page without an origin', () => ['Origin: null']],
  ['a page of another site', () => ['Origin: https://evil.example']],
  ['a page of another port', () => ['Origin: http://localhost:3000', `${SITE} same-site`]],
  ['an extension', () => ['Origin: chrome-extension://abcdefghijklmnop']],
  ['our origin with TLS', (own) => [`Origin: ${own.replace('http:', 'https:')}`]],
  ['our origin with a path', (own) => [`Origin: ${own}/`]],
  ['two origins', (own) => [`Origin: ${own}`, 'Origin: https://evil.example']],
  ['another site', () => [`${SITE} cross-site`]],
  ['another port of this site', () => [`${SITE} same-site`]],
  ['another site with our origin', (own) => [`Origin: ${own}`, `${SITE} cross-site`]],
  ['unknown Fetch Metadata', () => [`${SITE} x`]],
  ['repeated Fetch Metadata', () => [`${SITE} none`, `${SITE} cross-site`]],
  ['an image', () => [`${SITE} cross-site`, 'Sec-Fetch-Mode: no-cors', 'Sec-Fetch-Dest: image']],
  ['a form of a page without an origin', () => ['Origin: null', `${SITE} cross-site`, NAVIGATE]],
  ['an Origin behind many headers', () => [...Array<string>(900).fill('a:'), 'Origin: null']],
]

/** Returns an attack with headers that the guard rejects. */
export const refused = (
  row: Attack['row'],
  [name, lines]: Lines,
  on: Attack['on'],
  body?: string,
): Attack => ({
  row,
  name,
  on,
  shots: async (target, scene) => {
    const { host } = scene.at[target.listener]
    const own = lines(`http://${host}`, portOf(scene, target.listener))
    const sent = body === undefined ? { lines: own } : { lines: [...own, JSON_TYPE, CLOSE], body }
    return [
      {
        bytes: await opened(target, scene, sent),
        want: /^403 origin_not_allowed$/,
        ...(body === undefined ? {} : { alone: true }),
      },
    ]
  },
})

const navigated: Lines = ['a link from another site', () => [`${SITE} cross-site`, NAVIGATE]]
const navigatedHere: Lines = ['a link from another port', () => [`${SITE} same-site`, NAVIGATE]]

const preflight: Attack = {
  row: 'Cross-site request',
  name: 'a preflight',
  on: everywhere,
  shots: (target, scene) => [
    {
      bytes: requestTo(target, scene, {
        method: 'OPTIONS',
        lines: [
          'Origin: https://evil.example',
          `Access-Control-Request-Method: ${target.method}`,
          'Access-Control-Request-Headers: authorization',
          'Access-Control-Request-Private-Network: true',
        ],
      }),
      want: /^403 origin_not_allowed$/,
    },
  ],
}

/** The types that a form can send without a preflight request. */
const TYPES: readonly [name: string, lines: readonly string[]][] = [
  ['text/plain', ['Content-Type: text/plain']],
  ['a form with files', ['Content-Type: multipart/form-data; boundary=x']],
  ['no type', []],
  ['a type that ends like ours', ['Content-Type: text/plain; x=application/json']],
]

const typed = TYPES.map(([name, lines]): Attack => ({
  row: 'Cross-site request',
  name: `a body as ${name}`,
  on: takesBody,
  shots: async (target, scene) => [
    {
      bytes: await askedBy(scene.opens(target), target, scene, {
        lines: [...lines, CLOSE],
        body: '{}',
      }),
      want: /^415 unsupported_media_type$/,
      alone: true,
    },
  ],
}))

const asForm: Attack = {
  row: 'Cross-site request',
  name: 'a form where none is taken, or JSON where one is',
  on: takesBody,
  shots: async (target, scene) => {
    const type = target.route?.form === true ? 'json' : 'x-www-form-urlencoded'
    const lines = [`Content-Type: application/${type}`, CLOSE]
    const bytes = await askedBy(scene.opens(target), target, scene, { lines, body: 'a=b' })
    return [{ bytes, want: /^415 unsupported_media_type$/, alone: true }]
  },
}

const cookie: Attack = {
  row: 'Cross-site request',
  name: 'a token as a cookie',
  on: ({ need }) => need !== 'none',
  shots: async (target, scene) => {
    const [line = ''] = await scene.opening(target)
    const token = line.slice(line.lastIndexOf(' ') + 1)
    const bytes = requestTo(target, scene, {
      lines: [`Cookie: token=${token}; Authorization=Bearer ${token}; session=${token}`],
    })
    return [{ bytes, want: /^401 unauthorized$/ }]
  },
}

export const origins: readonly Attack[] = [
  ...[...OURS, ...FOREIGN].map((lines) =>
    refused('A browser creates a token', lines, isMint, NEW_TOKEN),
  ),
  refused(
    'A browser creates a token',
    ['a planted service worker', (own) => [`Origin: ${own}`, 'Service-Worker: script']],
    everywhere,
  ),
  refused(
    'A browser creates a token',
    ['a service worker’s script', () => ['Service-Worker: script', `${SITE} same-origin`]],
    everywhere,
  ),
  ...FOREIGN.map((lines) => refused('Cross-site request', lines, everywhere)),
  refused('Cross-site request', navigated, (target) => !isLinked(target)),
  refused('Cross-site request', navigatedHere, (target) => !isLinked(target)),
  preflight,
  ...typed,
  asForm,
  cookie,
]

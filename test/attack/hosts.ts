/**
 * Foreign host names, and requests with more than one: the intended server must be unambiguous.
 */
import { networkInterfaces } from 'node:os'
import {
  type Attack,
  CLOSE,
  askedBy,
  everywhere,
  isOverSocket,
  opened,
  portOf,
  requestTo,
} from './attack.ts'
import type { Shot } from './wire.ts'

const LAN =
  Object.values(networkInterfaces())
    .flat()
    .find((it) => it?.family === 'IPv4' && !it.internal)?.address ?? '192.168.1.2'

const NAMES: readonly [name: string, host: (port: string) => string][] = [
  ['another name', (port) => `evil.example:${port}`],
  ['a name that begins like ours', (port) => `127.0.0.1.evil.example:${port}`],
  ['a name that ends like ours', (port) => `evil.localhost:${port}`],
  ['an unused port', () => '127.0.0.1:1'],
  ['no port', () => 'localhost'],
  ['a trailing dot', (port) => `localhost.:${port}`],
  ['the any address', (port) => `0.0.0.0:${port}`],
  ['the address on the local network', (port) => `${LAN}:${port}`],
  ['another spelling of the address', (port) => `2130706433:${port}`],
  ['the other family', (port) => `[::1]:${port}`],
  ['a mapped address', (port) => `[::ffff:127.0.0.1]:${port}`],
  ['a name before an @', (port) => `evil.example@127.0.0.1:${port}`],
  ['a list', (port) => `127.0.0.1:${port}, evil.example`],
  ['other letters', (port) => `LOCALHOST:${port}`],
  ['nothing', () => ''],
]

/** Not a refusal of the Host. */
const ANY_HOST = /^(?!403 host_not_allowed$|400|5)/

/**
 * Returns the shot of a request without credentials over the Unix socket: DNS rebinding cannot
 * reach it, so any Host is accepted.
 */
const accepted = (bytes: string): Shot => ({ bytes, want: ANY_HOST, alone: true })

const rebinding = NAMES.map(([name, host]): Attack => ({
  row: 'DNS rebinding',
  name,
  on: everywhere,
  shots: async (target, scene) => {
    if (isOverSocket(target, scene))
      return [
        accepted(requestTo(target, scene, { host: host(portOf(scene, 'api')), lines: [CLOSE] })),
      ]
    return [
      {
        bytes: await opened(target, scene, { host: host(portOf(scene, target.listener)) }),
        want: /^403 host_not_allowed$/,
        check: ({ body }) =>
          body.includes(scene.at[target.listener].host)
            ? null
            : 'it does not name the hosts allowed',
      },
    ]
  },
}))

const otherListener: Attack = {
  row: 'DNS rebinding',
  name: 'the Host of the other listener',
  on: everywhere,
  shots: async (target, scene) => {
    const { host } = scene.at[target.listener === 'api' ? 'account' : 'api']
    if (isOverSocket(target, scene))
      return [accepted(requestTo(target, scene, { host, lines: [CLOSE] }))]
    return [{ bytes: await opened(target, scene, { host }), want: /^403 host_not_allowed$/ }]
  },
}

/** Changes to the bytes of a request that the route would answer. */
const CHANGED: readonly [name: string, change: (bytes: string, host: string) => string][] = [
  ['a second Host', (bytes) => bytes.replace('\r\n\r\n', '\r\nHost: evil.example\r\n\r\n')],
  ['a second Host before', (bytes) => bytes.replace('\r\n', '\r\nHost: evil.example\r\n')],
  ['the same Host twice', (bytes, host) => bytes.replace('\r\n', `\r\nHost: ${host}\r\n`)],
  ['no Host', (bytes) => bytes.replace(/Host: .*\r\n/, '')],
  [
    'HTTP/1.0 without Host',
    (bytes) => bytes.replace(/ HTTP\/1\.1\r\nHost: .*\r\n/, ' HTTP/1.0\r\n'),
  ],
  ['an absolute target', (bytes, host) => bytes.replace(' /', ` http://${host}/`)],
  ['an absolute target with another host', (bytes) => bytes.replace(' /', ' http://evil.example/')],
  ['a target without a scheme', (bytes, host) => bytes.replace(' /', ` ${host}/`)],
  ['an asterisk', (bytes) => bytes.replace(/ \/\S* /, ' * ')],
  [
    'many headers, and a second Host',
    (bytes) => bytes.replace('\r\n\r\n', `\r\n${'a:\r\n'.repeat(900)}Host: evil.example\r\n\r\n`),
  ],
]

/** Requests without a Host, which a Unix socket answers. */
const HOSTLESS = ['no Host', 'HTTP/1.0 without Host']

const ambiguous = CHANGED.map(([name, change]): Attack => ({
  row: 'Ambiguous Host',
  name,
  on: everywhere,
  shots: async (target, scene) => {
    const { host } = scene.at[target.listener]
    if (isOverSocket(target, scene) && HOSTLESS.includes(name))
      return [accepted(change(requestTo(target, scene, { lines: [CLOSE] }), host))]
    const bytes = change(await opened(target, scene), host)
    return [{ bytes, want: /^400 bad_request$/, alone: true }]
  },
}))

/**
 * A process that squats on a port gains no proof by forwarding the requests of the command line.
 */
const squatting: readonly [name: string, lines: (host: string) => string[], host?: string][] = [
  ['the nonce of the command line, under another name', () => [], 'evil.example'],
  ['the nonce of the command line, by a page', () => ['Origin: null']],
  ['the nonce of the command line, by a service worker', () => ['Service-Worker: script']],
]

const proofs = squatting.map(([name, lines, host]): Attack => ({
  row: 'Port squatting',
  name,
  on: everywhere,
  shots: async (target, scene) => {
    // A proof over the socket contains its path, so a process on a port gains nothing by it.
    if (host !== undefined && isOverSocket(target, scene)) return []
    const bytes = await opened(target, scene, {
      lines: ['Countersign-Nonce: 5f', ...lines(scene.at[target.listener].host)],
      ...(host === undefined ? {} : { host }),
    })
    return [
      {
        bytes,
        want: /^403 (host|origin)_not_allowed$/,
        check: ({ headers }) => ('countersign-proof' in headers ? 'it was given a proof' : null),
      },
    ]
  },
}))

const noProof: Attack = {
  row: 'Port squatting',
  name: 'the nonce of the command line, at the account server',
  on: ({ listener, need }) => listener === 'account' && need !== 'none',
  shots: async (target, scene) => [
    {
      bytes: await askedBy(scene.caller('account', 'nobody'), target, scene, {
        lines: ['Countersign-Nonce: 5f'],
      }),
      want: /^401 unauthorized$/,
      check: ({ headers }) => ('countersign-proof' in headers ? 'it was given a proof' : null),
    },
  ],
}

export const hosts: readonly Attack[] = [
  ...rebinding,
  otherListener,
  ...ambiguous,
  ...proofs,
  noProof,
]

/** Tests which user owns a socket, from socket tables in the format that Linux writes. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { newPeerLookup, ownersIn, peerCheck, peerUid, uidsOf } from '../../src/auth/peer.ts'
import { EXIT, StartError } from '../../src/errors.ts'

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
const CLIENT = '0100007F:D431'
const SERVER = '0100007F:4D6D'
const CLIENT6 = '00000000000000000000000001000000:D431'
const SERVER6 = '00000000000000000000000001000000:4D6D'

const row = (local: string, remote: string, { state = '01', uid = '1000', inode = '77001' } = {}) =>
  `   4: ${local} ${remote} ${state} 00000000:00000000 02:000A7D4C 00000000 ${uid.padStart(5)}        0 ${inode} 2 0000000000000000 20 4 30 10 -1`
const listing = (...rows: string[]) => [HEAD, ...rows, ''].join('\n')

const listener = row(SERVER, '00000000:0000', { state: '0A', uid: '0' })
const serverSide = row(SERVER, CLIENT, { uid: '0' })

const cases: [name: string, text: string, uid: number | null][] = [
  ['the client’s row', listing(listener, serverSide, row(CLIENT, SERVER)), 1000],
  ['a client of root', listing(row(CLIENT, SERVER, { uid: '0' })), 0],
  ['the highest uid', listing(row(CLIENT, SERVER, { uid: '4294967294' })), 4_294_967_294],
  ['only the server’s row', listing(listener, serverSide), null],
  ['nothing', '', null],
  ['only a heading', listing(), null],
  [
    'two sockets with the same addresses',
    listing(row(CLIENT, SERVER), row(CLIENT, SERVER, { uid: '0', inode: '77002' })),
    null,
  ],
  ['one socket listed twice', listing(row(CLIENT, SERVER), serverSide, row(CLIENT, SERVER)), 1000],
  [
    'one socket listed twice, and another',
    listing(row(CLIENT, SERVER), row(CLIENT, SERVER, { inode: '77002' }), row(CLIENT, SERVER)),
    null,
  ],
  [
    'two sockets, the second listed twice',
    listing(
      row(CLIENT, SERVER),
      row(CLIENT, SERVER, { inode: '77002' }),
      row(CLIENT, SERVER, { inode: '77002' }),
    ),
    null,
  ],
  [
    'a socket that is closed (inode 0)',
    listing(row(CLIENT, SERVER, { uid: '0', inode: '0' })),
    null,
  ],
  ['FIN_WAIT1', listing(row(CLIENT, SERVER, { state: '04' })), null],
  ['FIN_WAIT2', listing(row(CLIENT, SERVER, { state: '05' })), null],
  ['TIME_WAIT', listing(row(CLIENT, SERVER, { state: '06', uid: '0', inode: '0' })), null],
  ['CLOSE_WAIT', listing(row(CLIENT, SERVER, { state: '08' })), null],
  ['SYN_SENT', listing(row(CLIENT, SERVER, { state: '02' })), null],
  ['another port of the client', listing(row('0100007F:D432', SERVER)), null],
  ['another server', listing(row(CLIENT, '0100007F:4D6E')), null],
  ['another address', listing(row('0200007F:D431', SERVER)), null],
  ['the row in place of the heading', row(CLIENT, SERVER), null],
]

for (const [name, text, uid] of cases)
  test(`IPv4, ${name} → ${uid}`, () => {
    assert.equal(ownersIn(text).get(`${CLIENT} ${SERVER}`) ?? null, uid)
  })

for (const [name, text, uid] of cases)
  test(`IPv6, ${name} → ${uid}`, () => {
    const wide = text.replaceAll(
      /\b0([12])00007F:/g,
      (_, last) => `${'0'.repeat(24)}0${last}000000:`,
    )
    assert.equal(ownersIn(wide).get(`${CLIENT6} ${SERVER6}`) ?? null, uid)
  })

const LINUX = { skip: process.platform !== 'linux' && 'Linux only' }

/** Returns both ends of a connection in this process. */
async function pair(
  listenOn: string,
  connectTo: string,
  use: (accepted: Socket, client: Socket) => unknown,
) {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, listenOn)
  await once(server, 'listening')
  const client = connect({ host: connectTo, port: (server.address() as AddressInfo).port })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  try {
    await use(accepted, client)
  } finally {
    client.destroy()
    accepted.destroy()
    server.close()
  }
}

for (const [listenOn, connectTo] of [
  ['127.0.0.1', '127.0.0.1'],
  ['127.0.0.1', '::ffff:127.0.0.1'],
  ['127.9.8.7', '127.9.8.7'],
  ['::1', '::1'],
] as const)
  test(`a client from ${connectTo} to ${listenOn} is found in the kernel’s listing`, LINUX, () =>
    pair(listenOn, connectTo, (accepted) => {
      assert.equal(peerUid(accepted), process.getuid?.())
    }),
  )

test('a half-closed client has no known user', LINUX, () =>
  pair('127.0.0.1', '127.0.0.1', async (accepted, client) => {
    client.end()
    accepted.resume()
    await once(accepted, 'end')
    assert.equal(peerUid(accepted), null)
    assert.equal(peerCheck({ names: [] })(null), false)
    assert.equal(peerCheck({ any: true })(null), true)
  }),
)

test('a closed socket has no known user', LINUX, () =>
  pair('127.0.0.1', '127.0.0.1', (accepted) => {
    accepted.destroy()
    assert.equal(peerUid(accepted), null)
  }),
)

/** The server’s end of a connection, with the addresses of the rows above. */
const accepted = {
  remoteAddress: '127.0.0.1',
  remotePort: 0xd431,
  localAddress: '127.0.0.1',
  localPort: 0x4d6d,
} as Socket

test('a socket missing in one reading is found in the next', async () => {
  const texts = { tcp: [listing(listener), listing(serverSide, row(CLIENT, SERVER))], tcp6: [''] }
  const lookup = newPeerLookup((name) => Promise.resolve(texts[name].shift() ?? ''))
  assert.equal(await lookup(accepted), 1000)
})

test('a socket without an owner costs three readings of each listing', async () => {
  const read: string[] = []
  const lookup = newPeerLookup((name) => {
    read.push(name)
    return Promise.resolve(listing(row(CLIENT, SERVER, { inode: '0' })))
  })
  assert.equal(await lookup(accepted), null)
  assert.deepEqual(read, ['tcp', 'tcp6', 'tcp', 'tcp6', 'tcp', 'tcp6'])
})

const PASSWD = `root:x:0:0:root:/root:/bin/sh
daemon:x:1:1::/:/bin/false
ada:x:1000:1000:Ada:/home/ada:/bin/sh
1001:x:7:7::/:/bin/sh
`

test('users are names or uids', () => {
  assert.deepEqual(uidsOf(['ada', 'daemon', '1001', '42'], PASSWD), [1000, 1, 1001, 42])
})

for (const name of ['eve', 'Ada', 'ad', '', 'ada:x', '-1', 'toString'])
  test(`${JSON.stringify(name)} is not a user`, () => {
    assert.throws(
      () => uidsOf([name], PASSWD),
      (error) => {
        assert(error instanceof StartError)
        assert.equal(error.exit, EXIT.configuration)
        assert.match(error.message, /SVC_TOKEN_USERS/)
        return true
      },
    )
  })

/**
 * Tests the Host values that the guard accepts on both listeners.
 * It refuses every foreign name, even one that resolves to this machine (DNS rebinding).
 */
import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { describe, test } from 'node:test'
import {
  CLOSE,
  LISTENERS,
  daemon,
  only,
  portOf,
  refused,
  withDaemon,
  write,
  type Listener,
} from './guarding.ts'
import { exchange, hostOf } from './raw.ts'

withDaemon()

describe('Host', () => {
  const lan =
    Object.values(networkInterfaces())
      .flat()
      .find((it) => it?.family === 'IPv4' && !it.internal)?.address ?? '192.168.1.2'
  const wrong: [name: string, host: (port: string) => string][] = [
    ['another name (DNS rebinding)', (port) => `evil.example:${port}`],
    ['a name that begins like ours', (port) => `127.0.0.1.evil.example:${port}`],
    ['a name that ends like ours', (port) => `evil.localhost:${port}`],
    ['the wrong port', () => '127.0.0.1:1'],
    ['no port', () => '127.0.0.1'],
    ['a trailing dot', (port) => `localhost.:${port}`],
    ['an address with a trailing dot', (port) => `127.0.0.1.:${port}`],
    ['the any address', (port) => `0.0.0.0:${port}`],
    ['the address on the local network', (port) => `${lan}:${port}`],
    ['another spelling of the address', (port) => `127.1:${port}`],
    ['the other family', (port) => `[::1]:${port}`],
    ['a mapped address', (port) => `[::ffff:127.0.0.1]:${port}`],
    ['credentials in it', (port) => `x@127.0.0.1:${port}`],
    ['the port with a leading zero', (port) => `127.0.0.1:0${port}`],
    ['nothing', () => ''],
  ]
  const paths = ['/health', '/', '/api/v1/token', '/api/v1/docs', '/mcp', '/g/x', '/no/such//path']

  for (const at of LISTENERS) {
    for (const [name, host] of wrong)
      test(`${at}: ${name} is rejected`, async () => {
        const lines = ['GET /health HTTP/1.1', `Host: ${host(portOf(daemon[at]))}`, CLOSE]
        const { body } = refused(await exchange(daemon[at], lines), 403, 'host_not_allowed')
        const { message } = JSON.parse(body) as { message: string }
        for (const allowed of [hostOf(daemon[at]), `localhost:${portOf(daemon[at])}`])
          assert(message.includes(allowed), message)
      })

    for (const path of paths)
      test(`${at}: a wrong Host is rejected before ${path} is checked`, async () => {
        for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE'])
          refused(
            await exchange(daemon[at], [
              `${method} ${path} HTTP/1.1`,
              'Host: evil.example',
              `Authorization: Bearer ${write}`,
              CLOSE,
            ]),
            403,
            'host_not_allowed',
          )
      })

    test(`${at}: both own names are accepted`, async () => {
      for (const host of [hostOf(daemon[at]), `localhost:${portOf(daemon[at])}`]) {
        const lines = ['GET /health HTTP/1.1', `Host: ${host}`, CLOSE]
        assert.equal(only(await exchange(daemon[at], lines)).status, 200)
      }
    })
  }

  test('the listeners do not accept each other’s Host', async () => {
    for (const [to, as] of [LISTENERS, LISTENERS.toReversed()] as [Listener, Listener][]) {
      const lines = ['GET /health HTTP/1.1', `Host: ${hostOf(daemon[as])}`, CLOSE]
      refused(await exchange(daemon[to], lines), 403, 'host_not_allowed')
    }
  })
})

/**
 * Tests clients that abort, or never send anything: the daemon continues and answers the others.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { JSON_TYPE, daemon, portOf, withDaemon } from './guarding.ts'
import { hostOf } from './raw.ts'

withDaemon()

describe('a client that breaks off', () => {
  const reset = (bytes: string) =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(portOf(daemon.address)), '127.0.0.1', () =>
        socket.write(bytes, () => {
          socket.resetAndDestroy()
          resolve()
        }),
      )
    })
  const starts: [name: string, bytes: string][] = [
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a bad request', 'GET /health\r\n\r\n'],
    ['garbage', '\0\0\0\0'],
    [
      'a declared body',
      `POST /api/v1/token HTTP/1.1\r\nHost: H\r\n${JSON_TYPE}\r\nContent-Length: 9\r\n\r\n{`,
    ],
    ['an answer', 'GET /api/v1/openapi.json HTTP/1.1\r\nHost: H\r\n\r\n'],
    [
      'an Upgrade',
      'GET /health HTTP/1.1\r\nHost: H\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
  ]
  for (const [name, bytes] of starts)
    test(`the daemon survives a reset after ${name}`, async () => {
      // An error event without a listener would end this process, and the test with it.
      for (let i = 0; i < 20; i++)
        await reset(bytes.replace('Host: H', `Host: ${hostOf(daemon.address)}`))
      assert.equal((await daemon.request('GET', '/health')).status, 200)
    })

  test('200 idle connections do not block an honest request', async () => {
    const idle = await Promise.all(
      Array.from(
        { length: 200 },
        () =>
          new Promise<ReturnType<typeof connect>>((resolve) => {
            const socket = connect(Number(portOf(daemon.address)), '127.0.0.1', () =>
              resolve(socket),
            )
            socket.on('error', () => undefined)
          }),
      ),
    )
    assert.equal((await daemon.request('GET', '/health')).status, 200)
    for (const socket of idle) socket.destroy()
  })
})

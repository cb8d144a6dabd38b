/** The example that reads events, against a server that sends, breaks off and rejects. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, exec } from '../e2e/program.ts'

test('events.mjs prints each event once, and continues after the last one', async (t) => {
  const asked: (string | undefined)[] = []
  const parts = [
    ['retry: 1\nid: evt_0\n\nid: evt_1\nevent: a\nda', 'ta: {"n":1}\n\n:\n\nid: evt_2\n\n'],
    ['retry: 1\nid: evt_2\n\nid: evt_3\nevent: b\ndata: {"n":2}\n\nid: evt_4\nevent: c\ndata: {'],
  ]
  const server = createServer((req, res) => {
    const part = parts[asked.length]
    asked.push(req.headers['last-event-id'] as string | undefined)
    assert.equal(req.headers.authorization, 'Bearer csd_x')
    assert.equal(req.url, '/api/v1/events?types=connection.*')
    if (part === undefined) {
      res.writeHead(401, { 'Content-Type': 'application/json' })
      res.end('{"error":"invalid_token","message":"The token has ended."}')
      return
    }
    res.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (const text of part) res.write(text)
    res.end()
  })
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { code, stdout, stderr } = await exec(
    process.execPath,
    [join(ROOT, 'examples/events.mjs'), 'connection.*'],
    { env: { COUNTERSIGN_URL: `http://127.0.0.1:${port}`, COUNTERSIGN_TOKEN: 'csd_x' } },
  )
  assert.deepEqual(asked, [undefined, 'evt_2', 'evt_3'])
  assert.deepEqual([code, stdout, stderr], [1, '{"n":1}\n{"n":2}\n', 'The token has ended.\n'])
})

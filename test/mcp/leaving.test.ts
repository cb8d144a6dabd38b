/**
 * Calls that fail in this process, that take long, or that are cancelled: nothing leaks, and
 * nothing hangs.
 */
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import { type TestContext, describe, it } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { rest } from '../../src/api/rest/index.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import { AppError } from '../../src/errors.ts'
import type { Ask } from '../../src/api/tools/call.ts'
import { newServers } from '../../src/api/tools/server.ts'
import { startDaemon } from '../daemon.ts'
import { sendAndClose } from '../http/raw.ts'
import { listening } from './listening.ts'
import { calling, spoken } from './speaking.ts'

const ERAS = ['legacy', 'modern'] as const
const serverFor = newServers(rest, scopeTable(REST_RULES))

async function started(t: TestContext, ask: Ask) {
  const servers = new EventEmitter()
  let open = 0
  const listener = await listening((...given) => {
    const server = serverFor(...given)
    open++
    server.onclose = () => {
      open--
      servers.emit('closed')
    }
    return server
  }, ask)
  t.after(() => listener.close())
  return {
    ...listener,
    faults: () => listener.log.filter((line) => /"level":"(warn|error)"/.test(line)),
    /** Waits until no request has a server. */
    idle: async () => {
      while (open > 0) await once(servers, 'closed')
    },
  }
}

/** Sends a request and disconnects once `until` resolves, without an answer. */
async function leave(address: string, era: 'legacy' | 'modern', until: Promise<void>) {
  const { message, headers } = spoken(era, { method: 'tools/call', params: { name: 'tags_list' } })
  const left = request(`${address}/mcp`, {
    method: 'POST',
    agent: false,
    headers: { ...headers, Authorization: 'Bearer any', 'Content-Type': 'application/json' },
  })
  const gone = new Promise((resolve) => left.on('error', () => undefined).once('close', resolve))
  left.end(JSON.stringify(message))
  await until
  left.destroy()
  await gone
}

for (const era of ERAS) {
  describe(`an internal error, ${era}`, () => {
    it('is -32603 without the cause, which is logged', async (t) => {
      const { address, faults } = await started(t, () =>
        Promise.reject(new TypeError('canary of /home/ada/state.db')),
      )
      const { reply } = await calling(address, 'any', era, 'tags_list')
      assert.equal(reply.error?.code, -32603)
      assert(!JSON.stringify(reply).includes('canary'), JSON.stringify(reply))
      const [fault, ...more] = faults()
      assert.match(String(fault), /"tool":"tags_list".*canary/)
      assert.deepEqual(more, [])
    })

    it('of the account server is an error in the result, and logged', async (t) => {
      const { address, faults } = await started(t, () =>
        Promise.reject(new AppError('backend_error', 'It failed.', { cause: new Error('canary') })),
      )
      const { reply } = await calling(address, 'any', era, 'tags_list')
      assert.deepEqual(reply.result?.structuredContent, {
        error: 'backend_error',
        message: 'It failed.',
      })
      assert(!JSON.stringify(reply).includes('canary'))
      assert.match(faults().join(''), /canary/)
    })

    it('a full disk has its own name', async (t) => {
      const { address } = await started(t, () =>
        Promise.reject(Object.assign(new Error('write'), { code: 'ENOSPC' })),
      )
      const { reply } = await calling(address, 'any', era, 'tags_create', { name: 'Bank' })
      assert.equal(reply.result?.structuredContent?.['error'], 'storage_full')
    })
  })

  describe(`a client that leaves during a call, ${era}`, () => {
    it('the call finishes, its answer is dropped, and the next call works', async (t) => {
      const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      let [calls, done] = [0, 0]
      const { address, faults, idle } = await started(t, async () => {
        if (++calls === 20) begun.resolve()
        await released.promise
        done++
        return { value: { items: [] }, media: false }
      })
      await Promise.all(Array.from({ length: 20 }, () => leave(address, era, begun.promise)))
      released.resolve()
      const { reply } = await calling(address, 'any', era, 'tags_list')
      assert.deepEqual(reply.result?.structuredContent, { items: [] })
      await idle()
      assert.equal(done, 21)
      assert.deepEqual(faults(), [])
    })

    it('the listener closes at once, even if the call never ends', async (t) => {
      const begun = Promise.withResolvers<void>()
      const { address, close } = await started(t, () => {
        begun.resolve()
        return new Promise(() => undefined)
      })
      const answer = calling(address, 'any', era, 'tags_list')
      answer.catch(() => undefined)
      await begun.promise
      await close()
      await assert.rejects(answer)
    })
  })

  it(`a client that half-closes at once gets the answer, ${era}`, async (t) => {
    const { address } = await started(t, async () => ({ value: { tags: [] }, media: false }))
    const { message, headers } = spoken(era, {
      method: 'tools/call',
      params: { name: 'tags_list' },
    })
    const body = JSON.stringify(message)
    const fields = Object.entries({
      Host: new URL(address).host,
      Connection: 'close',
      Authorization: 'Bearer any',
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    const came = await sendAndClose(address, `POST /mcp HTTP/1.1\r\n${fields.join('')}\r\n${body}`)
    assert.match(came, /^HTTP\/1\.1 200 .*"structuredContent":\{"tags":\[\]\}/s)
  })

  describe(`concurrent calls, ${era}`, () => {
    it('200 calls get their own answers', async (t) => {
      const daemon = await startDaemon()
      t.after(() => daemon.close())
      const token = await daemon.token('write')
      const names = Array.from({ length: 200 }, (_, i) => `tag ${i}`)
      const answers = await Promise.all(
        names.map((name) => calling(daemon.address, token, era, 'tags_create', { name })),
      )
      assert.deepEqual(
        answers.map(({ reply }) => reply.result?.structuredContent?.['name']),
        names,
      )
    })
  })
}

describe('the result of a tool', () => {
  const content = (type: string, body: string | Uint8Array) => ({
    value: { type, body },
    media: true,
  })
  const cases: [what: string, answer: Awaited<ReturnType<Ask>>, wanted: object][] = [
    ['nothing', { value: undefined, media: false }, { structuredContent: {} }],
    ['JSON', content('application/json', '{"a":1}'), { structuredContent: { a: 1 } }],
    [
      'a drawing',
      content('image/svg+xml', '<svg/>'),
      { content: [{ type: 'text', text: '<svg/>' }] },
    ],
    [
      'an image',
      content('image/gif', Buffer.from('GIF')),
      { content: [{ type: 'image', data: 'R0lG', mimeType: 'image/gif' }] },
    ],
    [
      'more than the limit of a tool',
      content('image/gif', Buffer.alloc(1024 * 1024 + 1)),
      { isError: true },
    ],
  ]
  // A whole id, so that nothing is asked before the call itself.
  const id = newId('gst_', 1)
  for (const [what, answer, wanted] of cases)
    it(what, async (t) => {
      const { address } = await started(t, async () => answer)
      const { reply } = await calling(address, 'any', 'modern', 'guest_codes_qr', { id })
      assert.partialDeepStrictEqual(reply.result, wanted)
      if ('isError' in wanted)
        assert.equal(reply.result?.structuredContent?.['error'], 'payload_too_large')
    })
})

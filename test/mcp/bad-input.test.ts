/** Invalid calls get the errors of the protocol, in both eras, and change nothing. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { type Message, calling, speak } from './speaking.ts'

const ERAS = ['legacy', 'modern'] as const
const CANARY = 'canary-of-the-request'

let daemon: TestDaemon
let token: string
before(async () => {
  daemon = await startDaemon()
  token = await daemon.token('full')
})
after(() => daemon.close())

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
/** Creates a member that no literal can have. */
const withProto = (inner: string): unknown => JSON.parse(`{"__proto__": ${inner}}`)

for (const era of ERAS)
  describe(`an invalid call, ${era}`, () => {
    for (const name of [
      CANARY,
      '',
      'constructor',
      '__proto__',
      'toString',
      'account_delete',
      5,
      null,
    ])
      it(`the unknown tool ${JSON.stringify(name)}: -32602`, async () => {
        const { reply } = await calling(daemon.address, token, era, name)
        assert.deepEqual([reply.id, reply.error?.code, reply.result], [1, -32602, undefined])
      })

    for (const args of [[], 'x', 5, null])
      it(`the invalid arguments ${JSON.stringify(args)}: -32602`, async () => {
        const { reply } = await calling(daemon.address, token, era, 'tags_list', args)
        assert.equal(reply.error?.code, -32602)
      })

    const off: [tool: string, args: Record<string, unknown>, named: string][] = [
      ['tags_create', {}, 'name'],
      ['tags_create', { name: 5 }, 'name'],
      ['tags_create', { name: 'x'.repeat(100_000) }, 'name'],
      ['tags_create', { name: 'Bank', colour: '#ffffff' }, 'colour'],
      ['tags_create', { name: 'Bank', constructor: 1 }, 'constructor'],
      ['tags_create', { body: { name: 'Bank' } }, 'body'],
      ['connections_list', { limit: 1e300 }, 'limit'],
      ['connections_list', { limit: -1 }, 'limit'],
      ['connections_list', { limit: 'many' }, 'limit'],
      ['connections_list', { limit: {} }, 'limit'],
      ['connections_list', { limit: null }, 'limit'],
      ['connections_list', { nothing: CANARY }, 'nothing'],
      ['connections_read', {}, 'id'],
      ['connections_read', { id: 5 }, 'id'],
      ['connections_read', { id: '' }, 'id'],
      [
        'org_members_bulk_invite',
        { invites: [withProto('{"email":"a@example.org"}')] },
        'invites.0.__proto__',
      ],
      ['verify_words', { words: nested(31) }, 'words'],
    ]
    for (const [tool, args, named] of off)
      it(`${tool} ${JSON.stringify(args).slice(0, 60)}: an error in the result that names ${named}`, async () => {
        const { status, reply } = await calling(daemon.address, token, era, tool, args)
        assert.equal(status, 200)
        const { isError, structuredContent } = reply.result ?? {}
        assert.deepEqual([isError, structuredContent?.['error']], [true, 'validation_failed'])
        const issues = structuredContent?.['issues'] as { path: string }[]
        assert(
          issues.some(({ path }) => path === named),
          JSON.stringify(issues),
        )
        assert(JSON.stringify(reply).length < 10_000, 'an answer does not grow with the request')
      })

    for (const id of ['..', '.', 'con_1', 'a/../b', '%2e%2e', '\ud800'])
      it(`the unknown id ${JSON.stringify(id)}`, async () => {
        const { reply } = await calling(daemon.address, token, era, 'connections_read', { id })
        assert.equal(reply.result?.structuredContent?.['error'], 'not_found')
      })

    it('too deeply nested arguments are rejected', async () => {
      for (const words of [nested(32), nested(50)]) {
        const { reply } = await calling(daemon.address, token, era, 'verify_words', { words })
        assert.match(JSON.stringify(reply.result?.structuredContent), /deeper than 32 levels/)
      }
    })

    it('a member named __proto__ has no effect', async () => {
      const args = withProto('{"name":"Bank"}')
      const { reply } = await calling(daemon.address, token, era, 'tags_create', args)
      assert.equal(reply.result?.isError, true)
    })

    const methods: [Message, code: number][] = [
      [{ method: 'nothing/like/this' }, -32601],
      [{ method: 'resources/subscribe', params: { uri: 'countersign://events' } }, -32601],
      [{ method: 'resources/read' }, -32602],
      [{ method: 'prompts/get', params: { name: 'constructor' } }, -32602],
      [{ method: 'completion/complete' }, -32602],
      [{ method: 'logging/setLevel', params: { level: 'debug' } }, -32601],
      [{ method: 'constructor' }, -32601],
      [{ method: 'tools/call' }, -32602],
    ]
    for (const [message, code] of methods)
      it(`${message.method} ${JSON.stringify(message.params ?? {})}: ${code}`, async () => {
        const { reply } = await speak(daemon.address, token, era, message)
        assert.deepEqual([reply.id, reply.error?.code], [1, code])
      })
  })

it('the invalid calls logged nothing, made nothing, and did not stop the daemon', async () => {
  assert(!daemon.log.join('').includes(CANARY))
  const faults = daemon.log.filter((line) => /"level":"(warn|error)"/.test(line))
  assert.deepEqual(faults, [])
  const { reply } = await calling(daemon.address, token, 'modern', 'tags_list')
  assert.deepEqual(reply.result?.structuredContent?.['items'], [])
})

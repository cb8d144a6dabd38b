/** Sets of tools over the protocol: a client that chooses some lists and calls only these. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { rest } from '../../src/api/rest/index.ts'
import { toolsIn } from '../../src/api/tools/sets.ts'
import { toolsOf } from '../../src/api/tools/tool.ts'
import { EXIT } from '../../src/errors.ts'
import { type TestDaemon, ask, startDaemon } from '../daemon.ts'
import { countersignd } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { PATHS, connected, overHttp, overStdio } from './connected.ts'
import { daemonAt } from './daemon-at.ts'
import { repliesOf, spoken } from './speaking.ts'

let daemon: TestDaemon
let token = ''
before(async () => {
  daemon = await startDaemon()
  token = await daemon.token('write')
})
after(() => daemon.close())

const namesIn = (sets: string) => toolsIn(toolsOf(rest), sets).map(({ name }) => name)
const listed = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)
const refusal = (client: Client, name: string) =>
  client.callTool({ name, arguments: {} }).then(
    () => 'called',
    (error: Error) => error.message,
  )
/** Returns the names of tools in a text. */
const toolNames = (text = '') => text.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []

describe('sets over HTTP', () => {
  for (const path of PATHS)
    it(`${path}?tools=verify,guests lists and calls only these`, async (t) => {
      const client = await connected(
        t,
        overHttp(daemon.address, `${path}?tools=verify,guests`, token),
      )
      const names = await listed(client)
      assert.deepEqual(names, namesIn('verify,guests'))
      const { isError } = await client.callTool({ name: 'guest_codes_list', arguments: {} })
      assert.equal(isError, undefined)
      const said = await refusal(client, 'tags_create')
      assert.match(
        said,
        /"tags_create" is in the set tags, and this server has only: verify,guests/,
      )
      assert.match(said, /add \?tools=verify,guests,tags to the address/)
      assert.match(await refusal(client, 'nothing'), /There is no tool "nothing"/)
      const instructions = client.getInstructions()
      assert(
        toolNames(instructions).every((name) => names.includes(name)),
        instructions,
      )
      assert.match(instructions ?? '', /\?tools=SETS.*: common, all, connections/)
    })

  for (const era of ['legacy', 'modern'] as const)
    it(`${era}: the list of the common tools is below 20,000 bytes as sent`, async () => {
      const { message, headers } = spoken(era, { method: 'tools/list' })
      const answer = await ask(daemon.address, 'POST', '/mcp?tools=common', {
        token,
        body: message,
        headers,
      })
      const [{ result } = assert.fail(answer.text)] = repliesOf(answer)
      const { tools } = result as unknown as { tools: { name: string }[] }
      assert.deepEqual(
        tools.map(({ name }) => name),
        namesIn('common'),
      )
      assert(Buffer.byteLength(JSON.stringify(result)) < 20_000)
    })

  for (const path of ['/tools', '/api/v1/tools'])
    it(`${path} is narrowed in the same way`, async () => {
      const get = async (query: string) =>
        (await daemon.request('GET', `${path}${query}`, { token })).json as {
          tools: { name: string }[]
        }
      const { tools } = await get('?tools=tags')
      assert.deepEqual(
        tools,
        (await get('')).tools.filter(({ name }) => name.startsWith('tags_')),
      )
    })

  it('an unknown set is an error that lists the sets', async () => {
    for (const [method, path] of [
      ['POST', '/mcp?tools=guest'],
      ['POST', '/api/v1/mcp?tools=verify,guest'],
      ['GET', '/api/v1/tools?tools=guest'],
    ] as const) {
      const { message, headers } = spoken('legacy', { method: 'tools/list' })
      const of = method === 'POST' ? { token, body: message, headers } : { token }
      const { status, json } = await ask(daemon.address, method, path, of)
      const { error, issues } = json as {
        error: string
        issues: { path: string; message: string }[]
      }
      assert.deepEqual([status, error, issues[0]?.path], [422, 'validation_failed', 'tools'])
      assert.match(
        issues[0]?.message ?? '',
        /"guest"\. Did you mean "guests"\? The sets are: common,/,
      )
    }
  })
})

describe('sets of countersignd mcp', () => {
  it('without --tools: the common ones; all others are refused', async (t) => {
    const dir = freshFolder(t)
    await daemonAt(t, dir)
    const client = await connected(t, overStdio(dir, [], {}, null))
    assert.deepEqual(await listed(client), namesIn('common'))
    const { isError } = await client.callTool({ name: 'connections_list', arguments: {} })
    assert.equal(isError, undefined)
    assert.match(
      await refusal(client, 'org_members_list'),
      /is in the set org.*start "countersignd mcp" with --tools common,org\./,
    )
    assert.match(client.getInstructions() ?? '', /start "countersignd mcp" with --tools SETS/)
  })

  it('--tools lists the chosen ones, and all of them without a word about sets', async (t) => {
    const dir = freshFolder(t)
    const some = await connected(t, overStdio(dir, [], {}, 'verify,tags'))
    assert.deepEqual(await listed(some), namesIn('verify,tags'))
    const all = await connected(t, overStdio(dir))
    assert.deepEqual(await listed(all), namesIn('all'))
    assert.doesNotMatch(all.getInstructions() ?? '', /--tools/)
  })

  it('an unknown set is wrong usage', async (t) => {
    const { code, stdout, stderr } = await countersignd(
      ['mcp', '--tools', 'verify,conections'],
      freshFolder(t),
    )
    assert.deepEqual([code, stdout], [EXIT.usage, ''])
    assert.match(
      stderr,
      /--tools: There is no set of tools "conections"\. Did you mean "connections"\?/,
    )
    assert.match(stderr, /The sets are: common, all, verify, /)
  })
})

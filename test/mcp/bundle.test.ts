/**
 * The bundle: the MCP SDK and the texts of the rows are files of their own, which a daemon loads
 * when a client first uses the protocol, or requests a document or the tools.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, it } from 'node:test'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { ask } from '../daemon.ts'
import { PROGRAM, ROOT, environment } from '../e2e/program.ts'
import { restTextOf } from '../../src/api/rest/texts/index.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { VERSIONS, connected, overHttp } from './connected.ts'
import { noticesTo } from './notices.ts'
import { TEST_LIMIT_MS } from '../limit.ts'

/** A text that only the SDK contains. */
const OF_THE_SDK = 'io.modelcontextprotocol/clientCapabilities'
/** A text of a row. */
const OF_A_ROW = restTextOf('tags', 'list').description

for (const [file, part] of [
  ['mcp.cjs', OF_THE_SDK],
  ['texts.cjs', OF_A_ROW],
] as const)
  it(`lib/${file} is no part of the program`, () => {
    const text = (name: string) => readFileSync(join(ROOT, 'dist', name), 'latin1')
    assert(text(`lib/${file}`).includes(part))
    assert(!text('program.cjs').includes(part))
  })

/**
 * Starts the built program.
 * @param flags of Node
 * @returns its address, and a token of scope read
 */
async function started(t: TestContext, stateDir: string, ...flags: string[]) {
  const daemon = spawn(process.execPath, [...flags, PROGRAM, 'serve', '--json'], {
    env: environment(stateDir),
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: TEST_LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const ended = once(daemon, 'close')
  t.after(async () => {
    daemon.kill('SIGTERM')
    await ended
  })
  const [line] = (await once(daemon.stdout.setEncoding('utf8'), 'data')) as [string]
  const { address } = JSON.parse(line) as { address: string }
  const made = await ask(address, 'POST', '/api/v1/token', { body: { name: 't', scope: 'read' } })
  const { token } = made.json as { token: string }
  return { address, token }
}

/** Returns how a client starts `countersignd mcp` of the built program. */
const stdio = (stateDir: string) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', '--tools', 'all'],
    env: environment(stateDir) as Record<string, string>,
    stderr: 'ignore',
  })

it('a daemon loads each at the first request that needs it, and countersignd mcp contains the SDK', async (t) => {
  const [stateDir, folder] = [freshFolder(t), freshFolder(t)]
  const [loaded, listener] = [join(folder, 'loaded'), join(folder, 'listener.cjs')]
  writeFileSync(
    listener,
    `const fs = require('node:fs')
     const read = fs.readFileSync
     fs.readFileSync = (path, ...rest) => {
       const [, file] = /lib\\/((?:mcp|texts)\\.cjs)$/.exec(String(path)) ?? []
       if (file !== undefined) fs.appendFileSync(${JSON.stringify(loaded)}, file + ' ')
       return read(path, ...rest)
     }`,
  )
  writeFileSync(loaded, '')
  const loadedFiles = () => [...new Set(readFileSync(loaded, 'utf8').split(' '))].filter(Boolean)
  const { address, token } = await started(t, stateDir, '--require', listener)
  const asked = async (...paths: string[]) => {
    for (const path of paths)
      assert.equal((await ask(address, 'GET', path, { token })).status, 200, path)
    return loadedFiles()
  }
  assert.deepEqual(await asked('/health', '/api/v1/status', '/api/v1/connections'), [])
  assert.deepEqual(await asked('/api/v1/tools', '/openapi.json'), ['texts.cjs'])

  const client = await connected(t, overHttp(address, '/mcp', token))
  const listed = await client.listTools()
  assert.deepEqual(loadedFiles(), ['texts.cjs', 'mcp.cjs'])

  const other = await connected(t, stdio(stateDir))
  assert.deepEqual(await other.listTools(), listed)
  const { structuredContent } = await other.callTool({ name: 'context_read', arguments: {} })
  assert.equal((structuredContent as { user: { kind: string } }).user.kind, 'person')

  const notices = [client, other].map(noticesTo)
  for (const one of [client, other])
    await one.listen({ resourceSubscriptions: ['countersign://events'] })
  await ask(address, 'POST', '/api/v1/token', { body: { name: 'u', scope: 'read' } })
  for (const one of notices) assert.equal(await one.next(), 'countersign://events')
})

it('the bundle checks the parameters of prompts, completions and resources', async (t) => {
  const stateDir = freshFolder(t)
  const { address, token } = await started(t, stateDir)
  const uri = 'countersign://status'
  for (const transport of [overHttp(address, '/mcp', token), stdio(stateDir)]) {
    const client = await connected(t, transport)
    assert.equal((await client.readResource({ uri })).contents[0]?.uri, uri)
    const { messages } = await client.getPrompt({ name: 'check_stamp', arguments: { stamp: 'x' } })
    assert.equal(messages.length, 1)
    const ref = { type: 'ref/prompt', name: 'guest_link' } as const
    const { completion } = await client.complete({ ref, argument: { name: 'time', value: '30' } })
    assert.deepEqual(completion.values, ['30 days'])
  }
  const legacy = await connected(t, stdio(stateDir), VERSIONS[0])
  await legacy.subscribeResource({ uri })
  await legacy.unsubscribeResource({ uri })
})

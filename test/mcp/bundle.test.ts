/**
 * The bundle: the MCP SDK is a file of its own, which a daemon loads when a client first uses the
 * protocol.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { ask } from '../daemon.ts'
import { ROOT, environment, exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { connected, overHttp } from './connected.ts'
import { TEST_LIMIT_MS } from '../limit.ts'

/** A text that only the SDK contains. */
const OF_THE_SDK = 'io.modelcontextprotocol/clientCapabilities'

/** A folder to build in, with links to everything of the project except the build’s output. */
const place = mkdtempSync(join(tmpdir(), 'countersign-build-'))
const program = join(place, 'dist/countersignd.cjs')
before(async () => {
  for (const name of readdirSync(ROOT))
    if (!name.startsWith('.') && name !== 'dist') symlinkSync(join(ROOT, name), join(place, name))
  const script = `cd '${place}' && exec '${process.execPath}' build.mjs`
  const { code, stderr } = await exec('/bin/sh', ['-c', script])
  assert.equal(code, 0, stderr)
})
after(() => rmSync(place, { recursive: true, force: true }))

it('the program does not contain the SDK', () => {
  const text = (name: string) => readFileSync(join(place, 'dist', name), 'latin1')
  assert(text('lib/mcp.cjs').includes(OF_THE_SDK))
  assert(!text('program.cjs').includes(OF_THE_SDK))
})

it('a daemon loads it at the first request of the protocol, and countersignd mcp contains it', async (t) => {
  const [stateDir, folder] = [freshFolder(t), freshFolder(t)]
  const [loaded, listener] = [join(folder, 'loaded'), join(folder, 'listener.cjs')]
  writeFileSync(
    listener,
    `const { Module } = require('node:module')
     const load = Module._load
     Module._load = (name, ...rest) => {
       if (name.endsWith('lib/mcp.cjs')) require('node:fs').appendFileSync(${JSON.stringify(loaded)}, 'once\\n')
       return load(name, ...rest)
     }`,
  )
  const daemon = spawn(process.execPath, ['--require', listener, program, 'serve', '--json'], {
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
  for (const path of ['/health', '/api/v1/status', '/api/v1/tools', '/openapi.json'])
    assert.equal((await ask(address, 'GET', path, { token })).status, 200, path)
  assert(!existsSync(loaded), 'nobody has spoken the protocol yet')

  const client = await connected(t, overHttp(address, '/mcp', token))
  const listed = await client.listTools()
  assert.equal(readFileSync(loaded, 'utf8').slice(0, 5), 'once\n')

  const command = { command: process.execPath, args: [program, 'mcp'] }
  const env = environment(stateDir) as Record<string, string>
  const other = await connected(t, new StdioClientTransport({ ...command, env, stderr: 'ignore' }))
  assert.deepEqual(await other.listTools(), listed)
  const { structuredContent } = await other.callTool({ name: 'context_read', arguments: {} })
  assert.equal((structuredContent as { user: { kind: string } }).user.kind, 'person')
})

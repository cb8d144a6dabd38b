/** The main job of the program, done by an executable that has no other files. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { LABEL, ZERO_HEAD, codeKey, codeReader, windowOf } from '../../src/crypto/code.ts'
import { parseId } from '../../src/crypto/encoding/id.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { ask } from '../daemon.ts'
import { caller } from '../e2e/caller.ts'
import { connected } from '../mcp/connected.ts'
import { type Letter, codeIn, lettersIn } from '../service/letters.ts'
import { type Serving, type Stage, newStage } from './stage.ts'

/** Returns the words of a guest now, computed from the link. */
export function wordsOf(id: string, url: string): string {
  const subject = parseId('gst_', id)
  const key = Buffer.from(new URL(url).hash.slice(1), 'base64url')
  const read = codeReader(codeKey({ label: LABEL.guest, key, subject, epoch: 1, head: ZERO_HEAD }))
  return wordsAt(read(windowOf(Date.now()), subject)).join(' ')
}

/** Creates a token, a guest code and a stamp, verifies words, and requests the served pages. */
export async function mainJob(stage: Stage): Promise<void> {
  const daemon = await stage.serve()
  const { address } = daemon
  const made = await ask(address, 'POST', '/api/v1/token', { body: { name: 'try', scope: 'full' } })
  assert.equal(made.status, 201, made.text)
  const call = caller(address, (made.json as { token: string }).token)
  const { id, url } = await call('POST /api/v1/guest-codes', { label: 'A friend' })
  const verified = await call('POST /api/v1/verify', { words: wordsOf(id, url) })
  assert.equal(verified.verified, true, JSON.stringify(verified))
  const connection = await call('POST /api/v1/connections', { name: '銀行' })
  const { words } = await call(`GET /api/v1/connections/${connection.id}/code`)
  assert.match(words, /^[a-z]+ [a-z]+ [a-z]+$/)
  const stamp = await call('POST /api/v1/stamp', { content: 'Invoice 4711' })
  assert.match(stamp.stamp, /^eyJ/)

  // Content that is embedded in the executable: pages, scripts, libraries, texts.
  for (const path of ['/api/v1/docs', '/api/v1/openapi.json'])
    assert.equal((await ask(address, 'GET', path)).status, 200, path)
  const page = await ask(daemon.accountAddress, 'GET', new URL(url).pathname)
  const scripts = [...page.text.matchAll(/src="([^"]+)"/g)].map(([, path]) => path as string)
  assert(scripts.length > 0, page.text)
  for (const path of scripts)
    assert.equal((await ask(daemon.accountAddress, 'GET', path)).status, 200, path)
  const console = await ask(address, 'GET', '/', { headers: { Accept: 'text/html' } })
  const modules = [...console.text.matchAll(/"(\/console\/[^"]+)":"sha256-/g)].map(
    (found) => found[1]!,
  )
  assert(modules.length > 10, console.text)
  for (const path of modules) assert.equal((await ask(address, 'GET', path)).status, 200, path)
  const { tools } = await call('GET /api/v1/tools')
  assert(tools.length > 100)
  const { message } = await call('POST /api/v1/chat', { message: 'What is a stamp?' })
  assert.notEqual(message, '')

  // The same file is the command line, with a running daemon and without.
  const running = await stage.run(['token', 'create', '--name', 'cli', '--scope', 'read'])
  assert.equal(running.code, 0, running.err)
  assert.equal(
    (await ask(address, 'GET', '/api/v1/tags', { token: running.out.trim() })).status,
    200,
  )
  assert.equal(await daemon.end(), 0)
  const alone = await stage.run(['connection', 'list', '--json'])
  assert.deepEqual(
    [alone.code, (JSON.parse(alone.out) as { items: { id: string }[] }).items.map((one) => one.id)],
    [0, [connection.id]],
    alone.err,
  )
  const table = await stage.run(['connection', 'list'])
  const [heading, row] = table.out.split('\n')
  assert.match(`${heading}\n${row}`, /^ID +NAME  STATE .*\ncon_\w+  銀行  pending /, table.err)
}

/** Waits for a mail to be written. */
async function letterTo(dir: string, address: string): Promise<Letter> {
  for (;;) {
    const letter = (await lettersIn(dir, address).catch(() => [])).at(-1)
    if (letter !== undefined) return letter
    await setImmediate()
  }
}

/** Signs a person in at an account server that runs from the same file. */
export async function signingIn(server: Serving, of: Stage, person: Stage) {
  const mail = join(of.env['SVC_STATE_DIR'] as string, 'mail')
  const { code, err } = await person.run(
    ['login', '--email', 'ada@example.org'],
    async () => `${codeIn(await letterTo(mail, 'ada@example.org'))}\n`,
  )
  assert.equal(code, 0, err + server.log())
  const who = await person.run(['whoami', '--json'])
  assert.equal(who.code, 0, who.err)
  assert.match(who.out, /ada@example\.org/)
}

/** Lets an MCP client start the executable itself. */
export async function speaking(t: TestContext, executable: string): Promise<void> {
  const stage = newStage(t, executable)
  const daemon = await stage.serve()
  const [command, ...args] = stage.command
  const client = await connected(
    t,
    // The daemon rejects root like any other user, so the client runs as the same user.
    new StdioClientTransport(
      stage.user.uid === undefined
        ? { command, args: [...args, 'mcp', '--tools', 'all'], env: stage.env, stderr: 'ignore' }
        : {
            command: 'setpriv',
            args: [
              `--reuid=${stage.user.uid}`,
              `--regid=${stage.user.gid}`,
              '--clear-groups',
              command,
              ...args,
              'mcp',
              '--tools',
              'all',
            ],
            env: stage.env,
            stderr: 'ignore',
          },
    ),
  )
  const { tools } = await client.listTools()
  assert(tools.length > 100)
  const { structuredContent } = await client.callTool({ name: 'context_read', arguments: {} })
  assert.equal((structuredContent as { user: { kind: string } }).user.kind, 'person')
  assert.equal(await daemon.end(), 0)
}

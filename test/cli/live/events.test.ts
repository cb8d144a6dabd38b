/** `countersignd events` with and without a daemon, as a person and a script use it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { EXIT } from '../../../src/errors.ts'
import { startDaemon } from '../../daemon.ts'
import { PROGRAM, environment } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { terminal } from '../terminal.ts'

interface Item {
  readonly type: string
  readonly data: { readonly name?: string }
}

/** Starts a command that follows the events of a daemon; returns its lines one by one. */
async function following(t: TestContext, stateDir: string, ...args: string[]) {
  const child = spawn(process.execPath, [PROGRAM, 'events', ...args], {
    env: environment(stateDir),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return { child, line: async () => (await lines.next()).value as string }
}

/** Creates tokens until a line arrives, because a reader that starts gets only later events. */
async function minted(
  daemon: Awaited<ReturnType<typeof startDaemon>>,
  line: () => Promise<string>,
): Promise<string> {
  const arrived = line()
  let isHere = false
  void arrived.then(() => {
    isHere = true
  })
  while (!isHere) await daemon.token('read')
  return arrived
}

test('events lists what happened, and follows what happens', async (t) => {
  const daemon = await startDaemon({ SVC_STATE_DIR: freshFolder(t) })
  t.after(() => daemon.close())
  const on = terminal(daemon.stateDir)
  const { token: _, ...created } = JSON.parse(
    (await on(['token', 'create', '--name', 'backup', '--scope', 'read', '--json'])).out,
  ) as { token: string; id: string }
  const listed = await on(['events', '--types', 'token.*'])
  assert.match(
    listed.out,
    new RegExp(`^\\S+  token.created  token_id=${created.id}  name=backup\n`),
  )
  const { items, since } = JSON.parse(
    (await on(['events', '--json', '--since', '1h', '--types', 'token.created'])).out,
  ) as { items: Item[]; since: string }
  assert.deepEqual(
    items.map(({ data }) => data.name),
    ['backup'],
  )
  assert.equal((await on(['events', '--since', since])).out, '')

  const { line } = await following(t, daemon.stateDir, '--follow', '--json')
  const shown = JSON.parse(await minted(daemon, line)) as Item
  assert.deepEqual([shown.type, shown.data.name], ['token.created', 'test'])

  // The program gets one event after the other, and its own arguments unchanged.
  const copy = 'process.stdin.pipe(process.stdout); console.log(process.argv[1])'
  const exec = ['--exec', process.execPath, '--since', since, '--', '-e', copy, '$HOME;x']
  const run = await following(t, daemon.stateDir, ...exec)
  for (let n = 0; n < 2; n++) {
    assert.equal(await run.line(), '$HOME;x')
    assert.equal((JSON.parse(await run.line()) as Item).type, 'token.created')
  }
})

test('without a daemon there is nothing to follow, but past events are listed', async (t) => {
  const stateDir = freshFolder(t)
  const on = terminal(stateDir)
  await on(['token', 'create', '--name', 'n', '--scope', 'read'])
  assert.match((await on(['events'])).out, /token\.created/)
  const { code, err } = await on(['events', '--follow'])
  assert.deepEqual([code, err.includes('No daemon is running')], [EXIT.daemonSilent, true])
})

test('a program that cannot be run ends the command', async (t) => {
  const daemon = await startDaemon({ SVC_STATE_DIR: freshFolder(t) })
  t.after(() => daemon.close())
  await daemon.token('read')
  const { child } = await following(t, daemon.stateDir, '--exec', '/nothing', '--since', '1h')
  const chunks: Buffer[] = []
  child.stderr.on('data', (bytes: Buffer) => chunks.push(bytes))
  const [code] = (await once(child, 'close')) as [number]
  assert.equal(code, EXIT.failed)
  assert.match(Buffer.concat(chunks).toString(), /Cannot run \/nothing/)
})

test('wrong use is explained', async (t) => {
  const on = terminal(freshFolder(t))
  const { code, err } = await on(['events', 'argument'])
  assert.deepEqual([code, /only for the program of --exec/.test(err)], [EXIT.usage, true])
})

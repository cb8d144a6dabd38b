/**
 * Kills `countersignd server` in the middle of writes. Checks that no acknowledged write is lost
 * and that none is done twice.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { freshFolder } from './keychain/fresh-folder.ts'
import { type TestServer, askProven, signIn } from './account-server.ts'
import { ask } from './daemon.ts'
import { PROGRAM, environment } from './e2e/program.ts'

interface Running extends TestServer {
  readonly child: ChildProcess
}

async function start(t: TestContext, stateDir: string): Promise<Running> {
  const child = spawn(process.execPath, [PROGRAM, 'server', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: environment(stateDir),
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  const [line] = (await once(lines, 'line')) as [string]
  const { account_address: address } = JSON.parse(line) as { account_address: string }
  return {
    child,
    address,
    stateDir,
    log: [],
    request: (method, path, question) => ask(address, method, path, question),
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
    },
  }
}

test('kill -9 during writes that are repeated with their keys: each is stored once', async (t) => {
  const stateDir = freshFolder(t)
  let server = await start(t, stateDir)
  const { credentials } = await signIn(server, 'ada@example.org')
  const answers = new Map<string, string>()

  /** Repeats a write until a run of the server answers it. */
  async function write(key: string): Promise<void> {
    while (!answers.has(key)) {
      const answer = await askProven(server, 'POST', '/api/v1/org', credentials, {
        body: { name: key },
        headers: { 'Idempotency-Key': key },
      }).catch(() => null)
      if (answer?.status === 201) answers.set(key, (answer.json as { id: string }).id)
      else if (answer === null) await restarted
      else assert.equal(answer.status, 409, answer.text)
    }
  }

  let restarted: Promise<void> = Promise.resolve()
  async function restart() {
    const ended = once(server.child, 'exit')
    server.child.kill('SIGKILL')
    await ended
    server = await start(t, stateDir)
  }

  const keys = Array.from({ length: 60 }, (_, i) => `key-${i}`)
  const queue = [...keys]
  const worker = async () => {
    for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
      if (key === 'key-15' || key === 'key-40') restarted = restart()
      await write(key)
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])

  for (const key of keys) {
    const { json } = await askProven(server, 'POST', '/api/v1/org', credentials, {
      body: { name: key },
      headers: { 'Idempotency-Key': key },
    })
    assert.equal((json as { id: string }).id, answers.get(key))
  }
  const { json } = await askProven(server, 'GET', '/api/v1/context', credentials)
  const { organisations } = json as { organisations: { id: string }[] }
  assert.deepEqual(organisations.map(({ id }) => id).toSorted(), [...answers.values()].toSorted())
  await server.close()
})

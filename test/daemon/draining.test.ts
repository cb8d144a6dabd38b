/** A server that was asked to stop still answers for a while, and reports that it is not ready. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '../daemon.ts'
import { start } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'

async function startServer(t: TestContext, drainMs: number) {
  const env = { SVC_DRAIN_MS: String(drainMs) }
  const child = await start(['server', '--json'], freshFolder(t), env, '}\n')
  const { account_address: address } = JSON.parse(child.stdout) as { account_address: string }
  return { ...child, get: (path: string) => ask(address, 'GET', path) }
}

test('after the signal to stop it is not ready, and answers until a second signal', async (t) => {
  const server = await startServer(t, 600_000)
  assert.equal((await server.get('/health/ready')).status, 200)
  const ended = server.end('SIGTERM')
  const { text } = await until('an answer that it is not ready', async () => {
    const answer = await server.get('/health/ready')
    return answer.status === 503 ? answer : null
  })
  assert.match(text, /"backend_unavailable".*is about to stop/)
  for (const path of ['/health', '/device/v1/clock'])
    assert.equal((await server.get(path)).status, 200)
  assert.equal(await server.end('SIGTERM'), null)
  assert.equal(await ended, null)
})

test('after its time it ends in good order', async (t) => {
  const server = await startServer(t, 20)
  assert.equal(await server.end('SIGTERM'), 0, server.log())
})

/**
 * An account server on SQLite and a daemon signed in to it, both killed at any moment: every
 * acknowledged write is there.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { caller, newToken } from '../e2e/caller.ts'
import { type Child, start } from '../e2e/program.ts'
import { login } from '../e2e/servers.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { chance } from './chance.ts'
import { type Stage, check, newLedger } from './ledger.ts'
import { sized } from './size.ts'
import { requireSound, requireWhole, ownerOf } from './whole.ts'
import { writeUntil } from './writers.ts'
import { freePort } from '../free-port.ts'

async function started(
  t: TestContext,
  command: 'server' | 'serve',
  dir: string,
  env: NodeJS.ProcessEnv,
): Promise<Child> {
  const child = await start([command, '--json'], dir, env, '}\n')
  t.after(() => child.end('SIGKILL'))
  return child
}

const BOTH = ['server', 'daemon'] as const

test('kill -9 of an account server and of its daemon, under write load', async (t) => {
  const dice = chance(t)
  const [serverDir, dir] = [freshFolder(t), freshFolder(t)]
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const serve = {
    server: () => started(t, 'server', serverDir, { SVC_ACCOUNT_PORT: String(port) }),
    daemon: () => started(t, 'serve', dir, { SVC_BACKEND_URL: url }),
  }
  const [server, daemon] = await Promise.all([serve.server(), serve.daemon()])
  const running = { server, daemon }
  await login(dir, { server: url, mailDir: join(serverDir, 'mail'), email: 'ada@example.org' })
  const addressOf = ({ stdout }: Child) => (JSON.parse(stdout) as { address: string }).address
  const { token } = await newToken(addressOf(running.daemon))
  const stageOf = (): Stage => ({
    address: addressOf(running.daemon),
    accountAddress: url,
    token,
    owner: ownerOf(dir),
  })

  const ledger = newLedger()
  const kills = { server: 0, daemon: 0 }
  let [written, n] = [0, 0]
  const next = () => ++n
  for (let round = 0; round < sized(1, 30); round++) {
    const dying = round === 0 ? BOTH : dice.of([['server'], ['daemon'], BOTH] as const)
    written += await writeUntil(
      { stage: stageOf(), ledger, chance: dice, organisation: null, next },
      () => Promise.all(dying.map((name) => running[name].end('SIGKILL'))),
    )
    await Promise.all(
      dying.map(async (name) => {
        kills[name]++
        running[name] = await serve[name]()
      }),
    )
    const stage = stageOf()
    const { last_sync: sync } = await caller(stage.address, token)('POST /api/v1/sync')
    assert.deepEqual([sync.ok, sync.error], [true, null])
    await check(stage, ledger)
    ledger.locales = [(await caller(stage.address, token)('GET /api/v1/preferences')).locale]
    requireWhole(dir)
    requireSound(join(serverDir, 'account.db'))
  }
  for (const child of [running.daemon, running.server])
    assert.equal(await child.end('SIGTERM'), 0, child.log())
  t.diagnostic(
    `${kills.server} kills of the server, ${kills.daemon} of the daemon, ${written} writes acknowledged, 0 lost`,
  )
})

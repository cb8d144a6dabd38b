/** Commands while the account server is away: their output is from copies, and says so. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { clockTime } from '../../../src/cli/times.ts'
import { readConfig } from '../../../src/config/config.ts'
import { serveAccount } from '../../../src/daemon/account-server.ts'
import { EXIT } from '../../../src/errors.ts'
import { newLog } from '../../../src/log.ts'
import { environment } from '../../e2e/program.ts'
import { login } from '../../e2e/servers.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { daemonHere, terminal } from '../terminal.ts'

it('lists say as of when they are, on standard error and in the JSON', async (t) => {
  const mailDir = freshFolder(t)
  const settings = environment(join(freshFolder(t), 'server'), { SVC_MAIL_DIR: mailDir })
  const server = await serveAccount(
    readConfig(settings),
    newLog('error', () => undefined),
  )
  t.after(() => server.close())
  const stateDir = freshFolder(t)
  await login(stateDir, { server: server.address, mailDir, email: 'ona@example.org' })
  const daemon = await daemonHere(stateDir)
  t.after(() => daemon.close())
  const run = terminal(stateDir)
  await run(['tag', 'create', '--name', 'Work'])
  const online = await run(['tag', 'list'])
  assert.equal(online.err, '')
  await server.close()

  const away = await run(['tag', 'list'])
  assert.deepEqual([away.code, away.out], [EXIT.ok, online.out])
  const { out, err } = await run(['tag', 'list', '--json'])
  const { items, as_of } = JSON.parse(out) as { items: { name: string }[]; as_of: string }
  assert.deepEqual([items.map(({ name }) => name), err], [['Work'], ''])
  const time = clockTime(new Date(as_of), new Date())
  assert.equal(
    away.err,
    `The account server does not answer. Lists are as of ${time}; words and checks are current.\n`,
  )
  const status = await run(['status'])
  assert.match(status.out, /^Reachable +no, since \d+ [A-Z]/m)
  const whoami = await run(['whoami'])
  assert.match(whoami.out, /^email +ona@example\.org$/im)
  const unread = await run(['org', 'members'])
  assert.deepEqual([unread.code, unread.out], [EXIT.failed, ''])
  assert.match(unread.err, /because only the server has it\. Try again when the server answers/)
  const changed = await run(['tag', 'create', '--name', 'Home'])
  assert.deepEqual([changed.code, changed.out], [EXIT.failed, ''])
})

it('the time of a copy has the date unless it is of today', () => {
  const now = new Date(2026, 10, 28, 15, 40)
  assert.equal(clockTime(new Date(2026, 10, 28, 9, 5), now), '09:05')
  assert.equal(clockTime(new Date(2026, 10, 27, 15, 32), now), '27 Nov 15:32')
})

/**
 * A connection that loses the account server’s answers during a sign-in: nothing is doubled, and
 * the user gets in.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startAccountServer } from '../account-server.ts'
import { terminal } from '../cli/terminal.ts'
import { lossyLine } from '../daemon/lossy.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { startDaemon } from './program.ts'

const EMAIL = 'ada@example.org'

/** Returns the numbers of rows that a sign-in creates. */
function rowsOf(stateDir: string) {
  const db = new DatabaseSync(join(stateDir, 'account.db'), { timeout: 5_000 })
  const count = (table: string) =>
    Number(db.prepare(`select count(*) as n from ${table}`).get()?.['n'])
  const tables = ['accounts', 'emails', 'devices', 'key_log_entries', 'enrolment_codes']
  const rows = Object.fromEntries(tables.map((table) => [table, count(table)]))
  // A lost answer may leave a second session, until the device gets another one later.
  const owners = db.prepare('select distinct device_id from sessions').all()
  db.close()
  return { ...rows, devicesWithSessions: owners.length }
}

for (const [lost, path] of [
  ['that a code was sent', '/device/v1/sign-ins'],
  ['with the account of the code', '/device/v1/sign-ins/account'],
  ['that the device is enrolled', '/device/v1/enrolments'],
] as const)
  test(`after a lost answer (${lost}) the next login signs in, once`, async (t) => {
    const line = await lossyLine(t)
    const server = await startAccountServer(t, { SVC_PUBLIC_URL: line.address })
    line.target = server.address
    const env = { SVC_BACKEND_URL: line.address }
    const daemon = await startDaemon(freshFolder(t), env)
    t.after(() => daemon.end('SIGKILL'))
    const letters = () => lettersIn(join(server.stateDir, 'mail'), EMAIL)
    const login = () =>
      terminal(daemon.stateDir)(['login', '--email', EMAIL], {
        env,
        person: async () => codeIn((await letters()).filter(hasCode).at(-1)!),
      })

    line.mute.add(path)
    const unanswered = await login()
    assert.notEqual(unanswered.code, 0, unanswered.out)
    assert.match(unanswered.err, /account server/)
    assert.equal((await letters()).length, 1, 'no mail is sent again by itself')

    line.mute.clear()
    const result = await login()
    assert.equal(result.code, 0, result.err)
    const whoami = await terminal(daemon.stateDir)(['whoami'], { env })
    assert.deepEqual([whoami.code, whoami.out.includes(EMAIL)], [0, true], whoami.err)

    // Requested again, since this device did not learn that the first was sent.
    const mails = path === '/device/v1/sign-ins' ? 2 : 1
    assert.equal((await letters()).length, mails)
    assert.deepEqual(rowsOf(server.stateDir), {
      accounts: 1,
      emails: 1,
      devices: 1,
      key_log_entries: 1,
      devicesWithSessions: 1,
      enrolment_codes: mails,
    })
  })

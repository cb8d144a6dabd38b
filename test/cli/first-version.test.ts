/** What a user of the first version had is all still there with today's program. */
import assert from 'node:assert/strict'
import { chmodSync, cpSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { ask, caller, listed, type Json } from '../e2e/caller.ts'
import { secretsIn } from '../e2e/kept.ts'
import { linkOf, minuteOf, wordsFrom } from '../e2e/peer.ts'
import { countersignd, startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const FIXTURE = join(import.meta.dirname, '../fixtures/first-version')
const had = JSON.parse(readFileSync(join(FIXTURE, 'contents.json'), 'utf8')) as Json

/** The state folder as that version left it; Git keeps no modes. */
function firstState(t: TestContext): string {
  const dir = freshFolder(t)
  cpSync(join(FIXTURE, 'state'), dir, { recursive: true })
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
  return dir
}

describe('the state of the first version', () => {
  it('is all there', async (t) => {
    const dir = firstState(t)
    const daemon = await startDaemon(dir)
    t.after(() => daemon.end('SIGTERM'))
    const { good, revoked } = had.tokens
    const call = caller(daemon.address, good.token)
    const refused = await ask(daemon.address, revoked.token, 'GET /api/v1/status')
    assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_token'])

    const items = async (path: string, ...members: string[]) =>
      (await listed(call, path)).map((item) =>
        Object.fromEntries(members.map((name) => [name, item[name]])),
      )
    assert.equal((await call('GET /api/v1/context')).user.id, had.account)
    assert.deepEqual(await items('/api/v1/api-tokens', 'id', 'state'), had.listed_tokens)
    assert.deepEqual(await items('/api/v1/verification-log', 'id', 'outcome'), had.verifications)
    const connections = await items('/api/v1/connections', 'id', 'name', 'favorite', 'secret_here')
    assert.deepEqual(
      connections,
      had.connections.map((one: Json) => ({ ...one, secret_here: true })),
    )
    // Their states follow from the clock.
    assert.deepEqual(
      await items('/api/v1/guest-codes', 'id', 'label'),
      had.guests.map(({ id, label }: Json) => ({ id, label })),
    )
    for (const file of ['state.db.v1.backup', 'account.db.v1.backup'])
      assert(existsSync(join(dir, file)), file)
  })

  it('still holds the secrets of its words, and says words of protocol 2 with them', async (t) => {
    const dir = firstState(t)
    const [bank, friend] = had.words as [Json, Json]
    const { code, stdout, stderr } = await countersignd(['code', bank.subject, '--json'], dir)
    assert.equal(code, EXIT.ok, stderr)
    const said = JSON.parse(stdout) as { words: string; valid_from: string }
    const { secrets } = await secretsIn(dir)
    const secretOf = (subject: string) => secrets.find(({ id }) => id === subject)
    const guest = secretOf(friend.subject)
    assert.deepEqual(Buffer.from(guest!.k), linkOf(had.guest_link).k)
    const { k, connection } = secretOf(bank.subject)!
    const { epoch, head } = connection!
    const window = minuteOf(said.valid_from)
    const of = { label: 'code', subject: bank.subject, speaker: had.account } as const
    assert.equal(said.words, wordsFrom({ ...of, window, k, epoch, head }))
  })

  it('has stamps that verify, and satisfies doctor', async (t) => {
    const dir = firstState(t)
    const place = freshFolder(t)
    const [file, stamp] = [join(place, 'text'), join(place, 'text.stamp')]
    writeFileSync(file, had.stamp.content)
    writeFileSync(stamp, JSON.stringify(had.stamp.answer))
    const verified = await countersignd(['stamp', 'verify', file, stamp], dir)
    assert.equal(verified.code, EXIT.ok, verified.stderr)
    assert.equal((await countersignd(['sync'], dir)).code, EXIT.ok)
    const { code, stdout } = await countersignd(['doctor', '--json'], dir)
    const { checks } = JSON.parse(stdout) as { checks: { state: string }[] }
    assert.equal(code, EXIT.ok, stdout)
    assert.deepEqual(
      checks.filter(({ state }) => state === 'fail'),
      [],
    )
  })

  it('is refused by name once a newer program had it', async (t) => {
    const dir = firstState(t)
    assert.equal((await countersignd(['status'], dir)).code, EXIT.ok)
    const db = new DatabaseSync(join(dir, 'state.db'))
    db.exec('pragma user_version = 99')
    db.close()
    const { code, stderr } = await countersignd(['status'], dir)
    assert.equal(code, EXIT.stateNewer)
    assert.match(
      stderr,
      /written by a newer countersignd \(state version 99.*state\.db\.v1\.backup/,
    )
  })
})

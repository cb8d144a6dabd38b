/**
 * The state of the last program with a history of versions: the current program opens it, and
 * everything in it works. With the account in SQLite, and in PostgreSQL.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { ask, caller, listed, type Json } from '../e2e/caller.ts'
import { secretsIn } from '../e2e/kept.ts'
import { linkOf, minuteOf, wordsFrom } from '../e2e/peer.ts'
import { countersignd, startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type Postgres, startPostgres } from '../service/postgres.ts'
import { contents, earlierState, moveToPostgres } from '../state/earlier-state.ts'

/** The state folder, and the settings to use it. */
interface Opened {
  readonly dir: string
  readonly env: NodeJS.ProcessEnv
}

function stateSuite(name: string, open: (t: TestContext) => Promise<Opened>): void {
  describe(name, () => {
    it('has all its data', async (t) => {
      const { dir, env } = await open(t)
      const daemon = await startDaemon(dir, env)
      t.after(() => daemon.end('SIGTERM'))
      const { good, revoked } = contents.tokens
      const call = caller(daemon.address, good.token)
      const refused = await ask(daemon.address, revoked.token, 'GET /api/v1/status')
      assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_token'])

      const items = async (path: string, ...members: string[]) =>
        (await listed(call, path)).map((item) =>
          Object.fromEntries(members.map((member) => [member, item[member]])),
        )
      assert.equal((await call('GET /api/v1/context')).user.id, contents.account)
      // Their states depend on the clock.
      const ids = contents.listed_tokens.map(({ id }: Json) => ({ id }))
      assert.deepEqual((await items('/api/v1/api-tokens', 'id')).slice(-ids.length), ids)
      assert.deepEqual(await items('/api/v1/guest-codes', 'id', 'label'), contents.guests)
      assert.deepEqual(
        await items('/api/v1/verification-log', 'id', 'outcome'),
        contents.verifications,
      )
      assert.deepEqual(
        await items('/api/v1/connections', 'id', 'name', 'favorite', 'secret_here'),
        contents.connections.map((one: Json) => ({ ...one, secret_here: true })),
      )
      assert.deepEqual(
        (await items('/api/v1/trust-cards', 'user_id', 'safety_number')).find(
          ({ user_id }) => user_id === contents.contact.account,
        ),
        { user_id: contents.contact.account, safety_number: contents.contact.safety_number },
      )
    })

    it('accepts new data', async (t) => {
      const { dir, env } = await open(t)
      const daemon = await startDaemon(dir, env)
      t.after(() => daemon.end('SIGTERM'))
      const call = caller(daemon.address, contents.tokens.good.token)
      const connection = await call('POST /api/v1/connections', { name: 'Made today' })
      const { words } = await call(`GET /api/v1/connections/${connection.id}/code`)
      assert.equal((await call('POST /api/v1/verify', { words })).echo, true)
      const guest = await call('POST /api/v1/guest-codes', { label: 'Of today' })
      await call('POST /api/v1/stamp', { content: 'x' })
      await call('POST /api/v1/tags', { name: 'New' })
      await call('POST /api/v1/sync')
      await call(`DELETE /api/v1/guest-codes/${guest.id}`)
      for (const { id } of contents.connections) await call(`GET /api/v1/connections/${id}/code`)
    })

    it('has the same words', async (t) => {
      const { dir } = await open(t)
      const { secrets } = await secretsIn(dir)
      const guest = linkOf(contents.guest_link)
      for (const { subject, speaker, at, words } of contents.words) {
        const stored = secrets.find(({ id }) => id === subject) ?? assert.fail(subject)
        const { k, connection } = stored
        const of = { subject, speaker, window: minuteOf(at), k }
        if (connection === null) assert.deepEqual(Buffer.from(k), guest.k)
        assert.equal(
          connection === null
            ? wordsFrom({ ...of, label: 'guest' })
            : wordsFrom({ ...of, label: 'code', epoch: connection.epoch, head: connection.head }),
          words,
        )
      }
    })

    it('has stamps that verify, and no fault for doctor and for the audit log', async (t) => {
      const { dir, env } = await open(t)
      const place = freshFolder(t)
      const [file, stamp] = [join(place, 'text'), join(place, 'text.stamp')]
      writeFileSync(file, contents.stamp.content)
      writeFileSync(stamp, JSON.stringify(contents.stamp.answer))
      const run = async (...args: string[]) => {
        const { code, stdout, stderr } = await countersignd(args, dir, { env })
        assert.equal(code, EXIT.ok, `${args.join(' ')}: ${stdout}${stderr}`)
        return stdout
      }
      await run('stamp', 'verify', file, stamp)
      await run('sync')
      await run('audit', 'verify')
      const { checks } = JSON.parse(await run('doctor', '--json')) as { checks: Json[] }
      assert.deepEqual(
        checks.filter(({ state }) => state === 'fail'),
        [],
      )
    })

    it('is complete in a backup that can be restored', async (t) => {
      const { dir, env } = await open(t)
      const place = freshFolder(t)
      const backup = join(place, 'backup')
      const [passphrase, target] = [join(place, 'passphrase'), join(place, 'state')]
      writeFileSync(passphrase, 'six words that are not a secret\n', { mode: 0o600 })
      const options = ['--passphrase-file', passphrase]
      const made = await countersignd(['backup', backup, ...options], dir, { env })
      assert.equal(made.code, EXIT.ok, made.stderr)
      const restored = await countersignd(['restore', backup, ...options], target, { env })
      assert.equal(restored.code, EXIT.ok, restored.stderr)
      const { stdout } = await countersignd(['connection', 'list', '--json'], target, { env })
      const found = (JSON.parse(stdout) as { items: Json[] }).items.map(({ id }) => id)
      assert.deepEqual(
        found,
        contents.connections.map(({ id }: Json) => id),
      )
    })
  })
}

describe('the state of the last program with a history of versions', () => {
  stateSuite('SQLite', async (t) => ({ dir: earlierState(t, 'last-before-release'), env: {} }))

  describe('', () => {
    let postgres: Postgres
    before(async () => {
      postgres = await startPostgres()
    })
    after(() => postgres.stop())
    stateSuite('PostgreSQL', async (t) => {
      const dir = earlierState(t, 'last-before-release')
      const url = await postgres.newDatabase()
      await moveToPostgres(dir, url)
      return { dir, env: { SVC_DATABASE_URL: url } }
    })
  })
})

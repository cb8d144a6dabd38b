/**
 * Every route from the document alone, as the running daemon serves it: real calls in the order
 * of a user, on each of the four accounts. Every answer is valid by the schema in the document,
 * and every error has the common shape. The first walk records the examples of the document:
 * `UPDATE_EXAMPLES=1 node --test test/e2e/every-route.test.ts` rewrites them.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { startAccountServer } from '../account-server.ts'
import { type Question, type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation, signIn } from '../handlers/people.ts'
import { newDatabase } from '../service/shared-postgres.ts'
import { rest } from '../../src/api/rest/index.ts'
import { everyPath } from '../../src/api/route.ts'
import { rowsOf } from '../../src/api/rows.ts'
import type { Examples } from '../../src/api/openapi/examples.ts'
import { type Documented, type Operation, documentOf } from './documented.ts'
import { examplesOf, formOf } from './examples.ts'
import { type SignedIn, walk } from './walk.ts'

const EXAMPLES = join(import.meta.dirname, '../../src/api/openapi/examples.json')

/**
 * Asserts that the answers have the same members as the document’s examples; or rewrites these,
 * once.
 */
function assertShown(recorded: Examples): void {
  if (process.env['UPDATE_EXAMPLES'] === '1') {
    writeFileSync(EXAMPLES, `${JSON.stringify(recorded, null, 2)}\n`)
    delete process.env['UPDATE_EXAMPLES']
  }
  const shown = JSON.parse(readFileSync(EXAMPLES, 'utf8')) as Examples
  for (const [id, example] of Object.entries(recorded))
    assert.deepEqual(formOf(example), formOf(shown[id]), `the example of ${id} is of another form`)
}

interface Opened {
  readonly home: TestDaemon
  /** The process that runs the account server, and its address. */
  readonly server: Pick<TestDaemon, 'stateDir' | 'address'>
}

type Env = Record<string, string>

async function embedded(t: TestContext, env: Env): Promise<Opened> {
  const home = await startDaemon(env)
  t.after(() => home.close())
  return { home, server: { stateDir: home.stateDir, address: home.accountAddress } }
}

async function remote(t: TestContext, env: Env): Promise<Opened> {
  const server = await startAccountServer(t, env)
  const home = await startDaemon({ SVC_BACKEND_URL: server.address })
  t.after(() => home.close())
  await signIn(home, server, 'owner@example.org')
  return { home, server }
}

describe('every route is answered as the document describes', () => {
  const onPostgres = async (): Promise<Env> => ({ SVC_DATABASE_URL: await newDatabase() })
  const onSqlite = async (): Promise<Env> => ({})
  const accounts: [
    name: string,
    open: (t: TestContext, env: Env) => Promise<Opened>,
    env: () => Promise<Env>,
  ][] = [
    ['embedded, SQLite', embedded, onSqlite],
    ['embedded, PostgreSQL', embedded, onPostgres],
    ['remote, SQLite', remote, onSqlite],
    ['remote, PostgreSQL', remote, onPostgres],
  ]
  for (const [name, open, env] of accounts)
    it(`account server: ${name}`, async (t) => {
      const since = Date.now()
      const { home, server } = await open(t, await env())
      const document = await documentOf(home)
      await walk({
        document,
        home: { daemon: home, token: await home.token('full') },
        server,
        async newDaemon() {
          const daemon = await startDaemon({ SVC_BACKEND_URL: server.address })
          t.after(() => daemon.close())
          return daemon
        },
      })
      assert.equal(
        document.operations.length,
        rowsOf(rest).flatMap(({ route }) => everyPath(route)).length,
      )
      assert.deepEqual(document.unvisited(), [], 'add a call of each to test/e2e/walk.ts')
      assert.doesNotMatch(document.text, /not_implemented|"501"/)
      assertShown(
        examplesOf(document.recorded(), { address: home.address, stateDir: home.stateDir, since }),
      )
    })
})

describe('errors of all routes have one format', () => {
  let signedIn: SignedIn
  let document: Documented
  before(async () => {
    const daemon = await startDaemon()
    // The command line's token, because an API token may not approve a device.
    signedIn = { daemon, token: daemon.owner() }
    document = await documentOf(daemon)
    await activeOrganisation(daemon)
  })
  after(() => signedIn.daemon.close())

  const isPage = ({ responses }: Operation) =>
    !('application/json' in (responses['200']?.content ?? { 'application/json': null }))
  const someone = (path: string) => path.replace(/{\w+}/g, 'nobody')

  const mistakes: [
    name: string,
    of: (operation: Operation) => boolean,
    mistake: Question & { query?: string },
    status: number,
  ][] = [
    ['no token', ({ isPublic }) => !isPublic, { token: undefined }, 401],
    ['an unknown token', ({ isPublic }) => !isPublic, { token: 'csd_x' }, 401],
    ['an unknown parameter', (operation) => !isPage(operation), { query: '?nonsense=1' }, 422],
    ['an invalid body', ({ method }) => method !== 'GET', { body: { nonsense: 1 } }, 422],
    ['a body that is not JSON', ({ method }) => method !== 'GET', { body: '{' }, 400],
    ['an unknown id', ({ path, takesBody }) => path.includes('{') && !takesBody, {}, 404],
  ]
  for (const [name, of, { query = '', ...question }, status] of mistakes)
    it(`${name}: ${status}`, async () => {
      const tried = document.operations.filter(of)
      assert(tried.length > 20)
      for (const operation of tried) {
        const { method, path } = operation
        const target = someone(path) + query
        const answer = await signedIn.daemon.request(method, target, {
          token: signedIn.token,
          ...question,
        })
        const what = `${method} ${target}: ${answer.status} ${answer.text}`
        document.assertError(answer, what, operation)
        assert.equal(answer.status, status, what)
      }
    })

  it('an unknown method: 405', async () => {
    for (const { path } of document.operations) {
      const answer = await signedIn.daemon.request('PUT', someone(path), { token: signedIn.token })
      assert.equal(document.assertError(answer, path).error, 'method_not_allowed')
    }
  })
})

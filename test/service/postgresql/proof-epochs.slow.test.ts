/** Used proofs in PostgreSQL: one statement for each request, and no replay after a crash. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { AppError } from '../../../src/errors.ts'
import { until } from '../../until.ts'
import { newPostgresPlace, withoutPostgres } from '../engines.ts'
import { type Person, enrol } from '../person.ts'
import { startPostgres } from '../postgres.ts'
import { type LocalSubject, openSubject } from '../subject.ts'

const GET = { method: 'GET', path: '/api/v1/context' }

async function authenticator(subject: LocalSubject, { keys, enrolment }: Person) {
  const token = enrolment.session.access_token
  return {
    newProof: () => subject.proofOf(keys.auth, { ...GET, token }),
    authenticate: (proof: Awaited<ReturnType<LocalSubject['proofOf']>>) =>
      subject.service.authenticate({ token, proof }),
  }
}

test('a device is authenticated by one statement', { skip: withoutPostgres }, async (t) => {
  const subject = await openSubject(await newPostgresPlace())
  t.after(() => subject.close())
  const { newProof, authenticate } = await authenticator(subject, await enrol(subject.server))
  await authenticate(await newProof())
  const proof = await newProof()
  const query = t.mock.method(pg.Client.prototype, 'query')
  await authenticate(proof)
  assert.equal(query.mock.callCount(), 1)
})

/** Returns whether PostgreSQL has emptied the table of used proofs. */
async function isEmptied(url: string): Promise<boolean> {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query('select id from used_proofs limit 1')
    return rows.length === 0
  } finally {
    await client.end()
  }
}

test('a proof that was used before a crash of PostgreSQL is not accepted after it', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const url = await postgres.newDatabase()
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const servers = [0, 1].map(() => openSubject({ url, file: '/dev/null/account.db' }, clock))
  const replicas = await Promise.all(servers)
  t.after(() => Promise.all(replicas.map((replica) => replica.close())))
  const person = await enrol(replicas[0]!.server)
  const callers = await Promise.all(replicas.map((replica) => authenticator(replica, person)))
  const [first, second] = callers as [(typeof callers)[0], (typeof callers)[0]]
  const proof = await first.newProof()
  await first.authenticate(proof)
  await second.authenticate(await second.newProof())

  const victim = new pg.Client(url)
  victim.on('error', () => undefined)
  await victim.connect()
  const { rows } = await victim.query<{ pid: number }>('select pg_backend_pid() as pid')
  // After this, PostgreSQL ends all connections and recovers from its log.
  const ended = new Promise((resolve) => victim.once('end', resolve))
  process.kill(rows[0]!.pid, 'SIGKILL')
  await ended
  // Until then, another process of PostgreSQL may still answer.
  await until('the recovery', () => isEmptied(url).catch(() => false))

  const answerOf = ({ authenticate }: typeof first) =>
    authenticate(proof).then(
      () => assert.fail('the proof was accepted again'),
      (error: unknown) => {
        assert(error instanceof AppError, String(error))
        return error
      },
    )
  for (const caller of [first, second, first, second]) {
    const answer = await until('an answer of the database', async () => {
      const error = await answerOf(caller)
      return error.code === 'backend_unavailable' ? null : error
    })
    assert.match(answer.headers['WWW-Authenticate'] ?? '', /use_dpop_nonce/)
  }
  const fresh = await first.newProof()
  await second.authenticate(fresh)
  await assert.rejects(first.authenticate(fresh), { code: 'invalid_token' })
})

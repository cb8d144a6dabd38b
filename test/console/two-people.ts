/** Two people with daemons at one account server, connected. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { signIn } from '../handlers/people.ts'
import { newDatabase } from '../service/shared-postgres.ts'
import { until } from '../until.ts'

/** A person with a daemon. */
export interface ConsoleUser {
  readonly daemon: TestDaemon
  readonly email: string
  /** Sends a request to the API with a token of scope `full`; returns the body of the answer. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the tests read many shapes
  call(method: string, path: string, body?: unknown): Promise<any>
}

/** Starts the daemon of a person who is signed in at an account server. */
export async function newUser(
  t: TestContext,
  server: TestDaemon,
  name: string,
): Promise<ConsoleUser> {
  const daemon = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
  t.after(() => daemon.close())
  const email = `${name.toLowerCase()}@example.org`
  await signIn(daemon, server, email)
  const token = await daemon.token('full')
  const call: ConsoleUser['call'] = async (method, path, body) => {
    const { status, json, text } = await daemon.request(method, path, { token, body })
    assert(status < 300, `${method} ${path}: ${status} ${text}`)
    return json
  }
  await call('PATCH', '/api/v1/profile', { display_name: name })
  return { daemon, email, call }
}

/** Starts an account server on PostgreSQL, and the daemons of Ann and Ben. */
export async function twoUsers(t: TestContext) {
  const databaseUrl = await newDatabase()
  const server = await startDaemon({ SVC_DATABASE_URL: databaseUrl })
  t.after(() => server.close())
  const [ann, ben] = [await newUser(t, server, 'Ann'), await newUser(t, server, 'Ben')]
  return { server, databaseUrl, ann, ben }
}

/** Connects two people. Returns the id of the connection when both have words for it. */
export async function connect(from: ConsoleUser, to: ConsoleUser, name: string): Promise<string> {
  const { id } = await from.call('POST', '/api/v1/connections', {
    name,
    invite: [{ email: to.email }],
  })
  const invitation = await until('the invitation', async () => {
    await to.call('POST', '/api/v1/sync')
    const { received } = await to.call('GET', '/api/v1/invitations')
    return received.find((one: { connection_id: string }) => one.connection_id === id)
  })
  await to.call('POST', `/api/v1/invitations/${invitation.id}/approve`)
  await until('the words of both', async () => {
    await from.call('POST', '/api/v1/sync')
    await to.call('POST', '/api/v1/sync')
    const connection = await to.call('GET', `/api/v1/connections/${id}`)
    return connection.secret_here && connection.state === 'active' ? true : undefined
  })
  return id
}

/** Returns the words that a person speaks for a connection now. */
export const wordsOf = async (user: ConsoleUser, connection: string): Promise<string> =>
  (await user.call('GET', `/api/v1/connections/${connection}/code`)).words

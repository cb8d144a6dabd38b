/**
 * Changes arrive without a sync that a user requests: two daemons and an account server, each a
 * process of its own. While its stream is open, a daemon syncs by itself only every 45 minutes, so
 * without hints these tests would wait in vain.
 */
import { type TestContext, test } from 'node:test'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { freePort, startPostgres } from '../service/postgres.ts'
import { until } from '../until.ts'
import { type Json, caller, newToken } from './caller.ts'
import { startDaemon } from './program.ts'
import { login, startBalancer, startReplica } from './servers.ts'

/** Starts the daemon of a person, and waits until changes reach it by a stream. */
async function person(t: TestContext, name: string, of: { url: string; mailDir: string }) {
  const stateDir = freshFolder(t)
  const daemon = await startDaemon(stateDir, { SVC_BACKEND_URL: of.url })
  t.after(() => daemon.end('SIGKILL'))
  const email = `${name}@example.org`
  await login(stateDir, { server: of.url, mailDir: of.mailDir, email })
  const { token } = await newToken(daemon.address)
  const call = caller(daemon.address, token)
  const streams = async () => ((await call('GET /api/v1/status')) as Json).stream
  await until(`the stream of ${name}`, async () => (await streams())?.state === 'open')
  const codeOf = async (id: string) => {
    const answer = await fetch(`${daemon.address}/api/v1/connections/${id}/code`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    return answer.status === 200
  }
  return { email, daemon, call, streams, codeOf }
}

test('an approval, a removal and a killed replica reach both daemons without a requested sync', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const ports = [await freePort(), await freePort()] as const
  const { url } = await startBalancer(t, ports)
  const mailDir = freshFolder(t)
  const shared = { databaseUrl: await postgres.newDatabase(), publicUrl: url, mailDir }
  const replicas = await Promise.all(ports.map((port) => startReplica(t, port, shared)))
  for (const replica of replicas) t.after(() => replica.end('SIGKILL'))
  const [ada, bob] = [
    await person(t, 'ada', { url, mailDir }),
    await person(t, 'bob', { url, mailDir }),
  ]

  /** Ada opens a connection for Bob, and Bob approves. Resolves when both have words. */
  async function connect(name: string): Promise<string> {
    const { id } = await ada.call('POST /api/v1/connections', {
      name,
      invite: [{ email: bob.email }],
    })
    const invited = async () => {
      const { received } = (await bob.call('GET /api/v1/invitations')) as Json
      return received.find((one: Json) => one.connection_id === id)
    }
    const invitation = await until('the invitation', invited)
    await bob.call(`POST /api/v1/invitations/${invitation.id}/approve`)
    await until('the words of Bob', () => bob.codeOf(id))
    await until('the words of Ada', () => ada.codeOf(id))
    return id
  }

  const id = await connect('First')

  const { id: member } = (await bob.call('GET /api/v1/context')).user
  await ada.call(`DELETE /api/v1/connections/${id}/members/${member}`)
  await until('no words for Bob', async () => !(await bob.codeOf(id)))

  await replicas[0]!.end('SIGKILL')
  const isOpen = async (of: typeof ada) => (await of.streams())?.state === 'open'
  await until('both streams at the other replica', async () => {
    const both = await Promise.all([isOpen(ada), isOpen(bob)])
    return both.every(Boolean)
  })
  await connect('Second')
})

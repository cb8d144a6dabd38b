/**
 * Changes arrive without a sync that a user requests: two daemons and an account server, each a
 * process of its own. While its stream is open, a daemon syncs by itself only every 45 minutes, so
 * without hints these tests would wait in vain.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { across } from '../cli/across.ts'
import { terminal } from '../cli/terminal.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { freePort, startPostgres } from '../service/postgres.ts'
import { until } from '../until.ts'
import { type Json, caller, newToken } from './caller.ts'
import { startDaemon } from './program.ts'
import { login, startBalancer, startReplica } from './servers.ts'

/** The account server, and the folder of the mails that it sends. */
interface Place {
  readonly url: string
  readonly mailDir: string
}

/** Signs in a further device of a person, which the first device approves by the words of both. */
async function loginFurther(
  stateDir: string,
  of: Place & { readonly email: string; readonly first: string },
): Promise<void> {
  const { url, mailDir, email, first } = of
  const codes = async () => (await lettersIn(mailDir, email)).filter(hasCode)
  const { length: before } = await codes()
  const env = { SVC_BACKEND_URL: url }
  const { login: signedIn, approve } = await across(
    (typed) => terminal(stateDir)(['login', '--email', email], { env, person: typed }),
    (typed) => terminal(first)(['device', 'approve'], { env, person: typed }),
    () =>
      until('the code', async () => {
        const all = await codes()
        return all.length > before ? codeIn(all.at(-1)!) : undefined
      }),
  )
  assert.deepEqual([signedIn.code, approve.code], [0, 0], signedIn.err + approve.err)
}

/** Starts the daemon of a person, and waits until changes reach it by a stream. */
async function person(t: TestContext, name: string, of: Place & { first?: string }) {
  const stateDir = freshFolder(t)
  const daemon = await startDaemon(stateDir, { SVC_BACKEND_URL: of.url })
  t.after(() => daemon.end('SIGKILL'))
  const email = `${name}@example.org`
  const { first } = of
  if (first === undefined) await login(stateDir, { server: of.url, mailDir: of.mailDir, email })
  else await loginFurther(stateDir, { ...of, email, first })
  const { token } = await newToken(daemon.address)
  const call = caller(daemon.address, token)
  const streams = async () => ((await call('GET /api/v1/status')) as Json).stream
  await until(`the stream of ${name}`, async () => (await streams())?.state === 'open')
  const isFound = async (path: string) => {
    const answer = await fetch(daemon.address + path, {
      headers: { Authorization: `Bearer ${token}` },
    })
    return answer.status === 200
  }
  const codeOf = (id: string) => isFound(`/api/v1/connections/${id}/code`)
  /** Whether the device has the secret of a guest code. */
  const hasGuest = (id: string) => isFound(`/api/v1/guest-codes/${id}/qr`)
  const epochOf = async (id: string) =>
    ((await call(`GET /api/v1/connections/${id}`)) as Json).epoch
  return { stateDir, email, daemon, call, streams, codeOf, hasGuest, epochOf }
}

test('an approval, a rotation, a second device, a guest code revoked on it, a removal and a killed replica reach the daemons without a requested sync', async (t) => {
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

  const rotation = await terminal(ada.stateDir)(['rotate', id])
  assert.equal(rotation.code, 0, rotation.err)
  await until('the new secret at Bob', async () => (await bob.epochOf(id)) === 2)
  await until('the new words of Bob', () => bob.codeOf(id))

  const second = await person(t, 'ada', { url, mailDir, first: ada.stateDir })
  await until('the words of the second device', () => second.codeOf(id))

  const body = { label: 'Plumber', expires_in: 3600 }
  const { id: guest } = await ada.call('POST /api/v1/guest-codes', body)
  assert(await ada.hasGuest(guest))
  await second.call(`DELETE /api/v1/guest-codes/${guest}`)
  await until('no guest code at the first device', async () => !(await ada.hasGuest(guest)))

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

/**
 * Changes arrive without a sync that a user requests: two daemons and an account server, each a
 * process of its own. While its stream is open, a daemon syncs by itself only every 45 minutes, so
 * without hints these tests would wait in vain.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { terminal } from '../cli/terminal.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { freePort } from '../free-port.ts'
import { startPostgres } from '../service/postgres.ts'
import { until } from '../until.ts'
import { invited, person } from './person.ts'
import { startBalancer, startReplica } from './servers.ts'

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
    const { id: invitation, connection_id: id } = await invited(ada, bob, name)
    await bob.call(`POST /api/v1/invitations/${invitation}/approve`)
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

/**
 * The fixture of the fuzzer: a daemon, an owner with all that an account can have, other
 * accounts, a machine account, and their ids.
 */
import { join } from 'node:path'
import { rest } from '../../src/api/rest/index.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { type Device, type TestServer, proven, signIn } from '../account-server.ts'
import { type Answer, ask } from '../daemon.ts'
import { askedBy } from '../e2e/asking.ts'
import { type Json, caller } from '../e2e/caller.ts'
import { type Machine, activeOrganisation, newMachine } from '../handlers/people.ts'
import { confirmationIn } from '../service/letters.ts'
import { type DaemonProcess, startProcess } from './daemon-process.ts'
import { type Known, newKnown } from './fuzz-known.ts'
import type { Listener, Who } from './fuzz-requests.ts'

type Fields = readonly (readonly [name: string, value: string])[]

export interface FuzzFixture {
  readonly daemon: DaemonProcess
  readonly known: Known
  readonly port: (at: Listener) => number
  /** Returns the header fields with the caller’s credentials. */
  fieldsOf(who: Who, at: Listener, method: string, path: string): Promise<Fields>
  /** Stores the newest nonce of the account listener. */
  noted(nonce: string | undefined): void
  /**
   * Replaces a caller that was rejected because its account or session is gone. Returns whether
   * one was replaced.
   */
  restore(who: Who, error: string): Promise<boolean>
  /** Signs a new person in at the account listener. */
  newPerson(): Promise<Device>
  /** Returns the headers with a device’s proof. */
  provenBy(device: Device, method: string, path: string): Promise<Record<string, string>>
}

type Call = (request: string, body?: unknown) => Promise<Json>

/** Creates a few of each thing that an account can have. */
async function populate(call: Call, mailDir: string): Promise<void> {
  await call('PATCH /api/v1/profile', { display_name: 'Olga' })
  await call('PATCH /api/v1/preferences', { public_code: true })
  const made: Json[] = []
  for (const name of ['Huber', 'Plumber', 'Ada'])
    made.push(
      await call('POST /api/v1/connections', { name, invite: [{ email: 'ada@example.org' }] }),
    )
  for (const { id } of made) await call(`GET /api/v1/connections/${id}/code`)
  const external = await call('POST /api/v1/external-members', {
    display_name: 'Plumber',
    email: 'plumber@example.org',
  })
  for (const label of ['A friend', 'Another'])
    await call('POST /api/v1/guest-codes', { label, external_member_id: external.id })
  const tag = await call('POST /api/v1/tags', { name: 'Work' })
  await call('POST /api/v1/presets', { name: 'Customers', tag_ids: [tag.id] })
  const link = await call('POST /api/v1/open-links', { title: 'Hello' })
  await askedBy(link.url as string, mailDir, 'carl@example.org')
  await call('POST /api/v1/stamp', { content: 'Invoice 4711' })
  await call('POST /api/v1/emails', { address: 'second@example.org' })
  await call('POST /api/v1/exports')
  await call('POST /api/v1/api-tokens', { name: 'Help desk', scope: 'write' })
  await call('POST /api/v1/chat', { message: 'What is a stamp?' })
  const group = await call('POST /api/v1/org/groups', { name: 'Night shift' })
  const { user } = await call('GET /api/v1/context')
  await call(`POST /api/v1/org/groups/${group.id}/members`, { member_ids: [user.id] })
  await call('POST /api/v1/org/alerts', {
    name: 'Groups go',
    event: 'group_deleted',
    threshold: 1,
    window_minutes: 5,
    notify: [user.id],
  })
}

/** Collects the values of every list. Routes with a parameter are skipped. */
async function learnAll(known: Known, get: (path: string) => Promise<Answer>): Promise<void> {
  for (const { route } of rowsOf(rest)) {
    if (route.method !== 'GET' || route.path.includes('{') || route.media !== undefined) continue
    if (route.path.endsWith('openapi.json')) continue
    const { status, json } = await get(route.path)
    if (status === 200) known.learn(route.path, json)
  }
}

/** Starts a daemon with accounts. `people` is the number of sessions at the account listener. */
export async function newFuzzFixture(people: number): Promise<FuzzFixture> {
  const daemon = await startProcess()
  try {
    return await settle(daemon, people)
  } catch (error) {
    await daemon.close()
    throw error
  }
}

async function settle(daemon: DaemonProcess, people: number): Promise<FuzzFixture> {
  const known = newKnown()
  const mailDir = join(daemon.stateDir, 'mail')
  const server: TestServer = {
    address: daemon.accountAddress,
    stateDir: daemon.stateDir,
    log: daemon.log,
    request: (method, path, question) => ask(daemon.accountAddress, method, path, question),
    close: async () => undefined,
  }
  let nonce: string | undefined
  let count = 0

  let organisation = await activeOrganisation(daemon)
  const tokens = {
    full: await daemon.token('full'),
    write: await daemon.token('write'),
    read: await daemon.token('read'),
  }
  // No generated request revokes this one.
  const own = caller(daemon.address, daemon.owner())
  let machine: Machine = await newMachine(daemon, organisation)
  let csm = await machine.token('full')
  const residents: Device[] = [
    await signIn(server, 'ada@example.org'),
    await signIn(server, 'eve@example.org'),
  ]

  /** Adds the other accounts to the active organisation. */
  async function joinMember(): Promise<void> {
    const { invited } = await own('POST /api/v1/org/members/bulk-invite', {
      invites: [{ email: 'ada@example.org', role: 'admin' }, { email: 'eve@example.org' }],
    })
    for (const { id } of invited) await own(`POST /api/v1/org/members/${id}/activate`)
  }
  await joinMember()
  const learning: Call = async (request, body) => {
    const value = await own(request, body)
    known.learn(request.split(' ')[1] as string, value)
    return value
  }
  await populate(learning, mailDir)

  async function headersOf({ credentials }: Device, method: string, path: string) {
    // No URL has this path: the proof is for another path and is rejected.
    const named = /^\/[\w.~:@!$&'()*+,;=/-]*$/.test(path) ? path : '/'
    return proven(server, method, named, credentials, nonce === undefined ? {} : { nonce })
  }
  async function asPerson(device: Device, method: string, path: string, body?: unknown) {
    const attempt = async () => {
      const answer = await server.request(method, path, {
        body,
        headers: await headersOf(device, method, path),
      })
      nonce = (answer.headers['dpop-nonce'] as string | undefined) ?? nonce
      return answer
    }
    const first = await attempt()
    return first.status === 401 ? attempt() : first
  }

  const newPerson = () => signIn(server, `person-${++count}@example.org`)
  while (residents.length < people) residents.push(await newPerson())
  const [ada, eve] = residents as [Device, Device]
  for (const person of [ada, eve]) {
    await asPerson(person, 'POST', '/api/v1/context/active-org', { organisation_id: organisation })
    for (const [path, body] of [
      ['tags', { name: 'Theirs' }],
      ['open-links', { title: 'Theirs' }],
      ['external-members', { display_name: 'Theirs' }],
    ] as const)
      known.learn(`/api/v1/${path}`, (await asPerson(person, 'POST', `/api/v1/${path}`, body)).json)
    await learnAll(known, (path) => asPerson(person, 'GET', path))
    known.learn('', {
      account: person.id,
      device: person.device,
      entry: person.entry,
      kid: person.kid,
    })
  }
  await learnAll(known, (path) => daemon.request('GET', path, { token: tokens.full }))
  known.learn('', (await asPerson(ada, 'GET', `/device/v1/key-logs/${ada.id}`)).json)
  known.keep(
    '/confirm',
    (await confirmationIn(mailDir, 'second@example.org')).split('/').at(-1) as string,
  )
  for (const name of ['guest.js', 'stamp.js', 'style.css', 'docs.js']) known.keep('/assets', name)

  const isGood = {
    token: async (token: string) =>
      (await ask(daemon.address, 'GET', '/api/v1/tags?limit=1', { token })).status !== 401,
    person: async (device: Device) =>
      (await asPerson(device, 'GET', '/api/v1/context')).status === 200,
  }

  let turn = 0
  let asking = 0

  async function replace(who: Who): Promise<boolean> {
    if (who === 'full' || who === 'write' || who === 'read') {
      if (await isGood.token(tokens[who])) return false
      tokens[who] = await daemon.token(who)
      return true
    }
    if (who === 'machine') {
      if (await isGood.token(csm)) return false
      try {
        csm = await machine.token('full')
      } catch {
        // The machine account was suspended, or the owner of its organisation was.
        await chooseOrganisation()
        machine = await newMachine(daemon, organisation)
        csm = await machine.token('full')
      }
      return true
    }
    const place = turn++ % residents.length
    if (who !== 'session' || (await isGood.person(residents[place] as Device))) return false
    residents[place] = await newPerson()
    return true
  }

  /**
   * Chooses an organisation. An owner who suspended itself by a request is no longer a member and
   * founds another one.
   */
  async function chooseOrganisation(): Promise<boolean> {
    const chosen = await daemon.request('POST', '/api/v1/context/active-org', {
      token: daemon.owner(),
      body: { organisation_id: organisation },
    })
    if (chosen.status !== 404) return chosen.status === 200
    organisation = await activeOrganisation(daemon)
    // Another request may choose a different one meanwhile: this one then has fewer members, as
    // others had.
    await joinMember().catch(() => undefined)
    return true
  }

  /** One at a time: callers that are rejected meanwhile are rejected for the same reason. */
  let restoring: Promise<boolean> | null = null
  async function once(restore: () => Promise<boolean>): Promise<boolean> {
    if (restoring !== null) return false
    restoring = restore().finally(() => {
      restoring = null
    })
    return restoring
  }

  return {
    daemon,
    known,
    port: (at) => Number(new URL(at === 'api' ? daemon.address : daemon.accountAddress).port),
    async fieldsOf(who, at, method, path) {
      if (who === 'nobody') return []
      if (who === 'unknown') return [['Authorization', `Bearer csd_${'0'.repeat(30)}`]]
      if (who === 'machine') return [['Authorization', `Bearer ${csm}`]]
      if (who !== 'session') return [['Authorization', `Bearer ${tokens[who]}`]]
      if (at === 'api') return [['Authorization', `DPoP ${tokens.full}`]]
      const device = residents[asking++ % residents.length] as Device
      return Object.entries(await headersOf(device, method, path))
    },
    noted(given) {
      nonce = given ?? nonce
    },
    async restore(who, error) {
      if (error === 'no_active_organisation' && who === 'full') return once(chooseOrganisation)
      if (error !== 'invalid_token' || who === 'nobody' || who === 'unknown') return false
      return once(() => replace(who))
    },
    newPerson,
    provenBy: headersOf,
  }
}

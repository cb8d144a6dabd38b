/** Calls every route, in the order in which a user would need it, by the document alone. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { SignIn } from '../../src/api/local/index.ts'
import type { TestDaemon } from '../daemon.ts'
import { asOwner, signIn } from '../handlers/people.ts'
import { askedBy } from './asking.ts'
import type { Json } from './caller.ts'
import type { Asker, Call, Documented } from './documented.ts'
import { until } from '../until.ts'

/** A daemon with a signed-in user, and a token of full scope. */
export interface SignedIn extends Asker {
  readonly daemon: TestDaemon
}

export interface Place {
  readonly document: Documented
  /** The account that makes the calls. */
  readonly home: SignedIn
  /** The process that runs the account server. */
  readonly server: Pick<TestDaemon, 'stateDir'>
  /** Starts a further daemon at the same account server, without a signed-in user. */
  readonly newDaemon: () => Promise<TestDaemon>
}

const id = (one: Json): Call => ({ params: { id: one.id } })

async function startSignedIn({ newDaemon, server }: Place, email: string): Promise<SignedIn> {
  const daemon = await newDaemon()
  await signIn(daemon, server, email)
  return { daemon, token: await daemon.token('full') }
}

/** Creates a user of this name with a first device. */
async function person(place: Place, display_name: string): Promise<SignedIn> {
  const one = await startSignedIn(place, `${display_name.toLowerCase()}@example.org`)
  await place.document.call(one, 'profile_update', { body: { display_name } })
  return one
}

/** Calls the routes for a first look. */
async function begin({ document: { call }, home }: Place): Promise<Json> {
  const nobody = { ...home, token: undefined }
  for (const open of ['health_read', 'health_read_unversioned', 'openapi_read', 'docs_read'])
    await call(nobody, open)
  await call(nobody, 'token_create', {
    body: { name: 'Backup script', scope: 'read', label: 'office', expires_in: 7_776_000 },
  })
  await call(home, 'profile_update', { body: { display_name: 'Olga', headline: 'At home' } })
  await call(home, 'tools_catalogue')
  // The stream of hints opens after the first sync.
  await until('the stream', async () => {
    const { json } = await home.daemon.request('GET', '/api/v1/status', { token: home.token })
    return (json as Json).stream?.state === 'open'
  })
  await call(home, 'status_read')
  await call(home, 'sync_run')
  await call(home, 'sync_read')
  await call(home, 'doctor_read')
  await call(home, 'health_ready')
  await call(home, 'health_ready_unversioned')
  await call(home, 'metrics_read')
  const minted = await call(home, 'apiTokens_create', {
    body: { name: 'Help desk', scope: 'write' },
  })
  await call(home, 'apiTokens_delete', id(minted))
  await call(home, 'apiTokens_list')
  await call(home, 'events_follow', { query: '?types=token.*&wait=0' })
  const { user } = await call(home, 'context_read')
  await call(home, 'profiles_read', id(user))
  await call(home, 'profiles_keys', id(user))
  await call(home, 'preferences_read')
  await call(home, 'preferences_update', { body: { public_code: true } })
  return call(home, 'profile_read')
}

/** Connects two accounts, verifies words, and removes the member. */
async function connect({ document: { call }, home }: Place, ada: SignedIn): Promise<Json> {
  const connection = await call(home, 'connections_create', { body: { name: 'Bäckerei Huber' } })
  const on = id(connection)
  await call(home, 'connections_read', on)
  await call(home, 'connections_update', { ...on, body: { favorite: true } })
  await call(home, 'connections_favorite', on)
  await call(home, 'connections_list', { query: '?limit=1' })
  const { words } = await call(home, 'connections_code', on)
  const echo = await call(home, 'verify_words', { body: { words } })
  assert.equal(echo.echo, true)

  const { user } = await call(ada, 'context_read')
  const invite = (body: Json) => call(home, 'members_add', { ...on, body })
  const mailed = await invite({ email: 'carl@example.org' })
  await call(home, 'contactWords_create', id(mailed))
  await call(home, 'firstContacts_list')
  await call(home, 'invitations_pending')
  await call(home, 'invitations_withdraw', id(mailed))
  await call(ada, 'invitations_decline', id(await invite({ user_id: user.id })))
  await call(ada, 'invitations_approve', id(await invite({ user_id: user.id })))
  await call(ada, 'invitations_list')
  for (const signedIn of [home, ada]) await call(signedIn, 'sync_run')
  await call(home, 'connections_list', { query: '?limit=20', shown: true })
  await call(home, 'connections_read', { ...on, shown: true })
  const code = await call(ada, 'connections_code', on)
  const { verified } = await call(home, 'verify_words', {
    body: { words: code.words },
    shown: true,
  })
  assert.equal(verified, true)
  await call(home, 'verificationLog_list')
  const expected = await call(home, 'verify_words', {
    body: { words: code.words, expect: { user_id: user.id } },
  })
  assert.equal(expected.replayed, true)
  const drawn = await call(home, 'verify_challenge', {
    body: { connection_id: connection.id, purpose: 'Pay 12,000 to 1234' },
  })
  const answer = await call(ada, 'connections_code', {
    ...on,
    query: `?challenge=${drawn.word}&purpose=pay+12000+to+1234`,
  })
  const answered = await call(home, 'verify_words', {
    body: { words: answer.words, challenge_id: drawn.id },
  })
  assert.deepEqual([answered.verified, answered.purpose], [true, 'pay12000to1234'])

  const card = { params: { id: user.id as string } }
  await call(home, 'trustCards_create', { body: { user_id: user.id } })
  const { items: followed } = await call(home, 'trustCards_list')
  const { safety_number } = followed.find(({ user_id }: { user_id: string }) => user_id === user.id)
  await call(home, 'trustCards_update', {
    ...card,
    body: { note: 'A friend', confirmed: true, safety_number },
  })
  await call(home, 'trustCards_history', card)
  await call(home, 'trust_metrics')
  await call(home, 'trustCards_delete', card)
  const params = { id: connection.id, mid: user.id }
  for (const role of ['owner', 'member'])
    await call(home, 'members_role', { params, body: { role } })
  await call(home, 'connections_rotate', on)
  await call(home, 'members_remove', { params })
  return connection
}

/** Signs content, and verifies public words. */
async function prove({ document: { call }, home }: Place, ada: SignedIn, own: Json): Promise<void> {
  const content = 'Invoice 4711: 1,200 CHF, due on the last day of March.'
  const sha256 = createHash('sha256').update(content).digest('hex')
  const content_base64 = Buffer.from(content).toString('base64')
  const body = { content, media_type: 'text/plain', context: 'Invoice to Huber' }
  const made = await call(home, 'stamp_create', { body, shown: true })
  assert.equal(made.sha256, sha256)
  await call(home, 'stamps_list')
  await call(home, 'stamps_read', id(made))
  for (const body of [{ content_base64 }, { sha256 }])
    assert.equal((await call(home, 'stamp_create', { body })).sha256, sha256)
  const link = made.verification_url as string
  const { valid } = await call(home, 'stamps_check', { body: { sha256, link }, shown: true })
  assert.equal(valid, true)
  await call(home, 'audit_list', { query: '?limit=1' })
  assert.equal((await call(home, 'audit_chain')).ok, true)
  const { words } = own.public_code
  assert.equal((await call(ada, 'verify_public', { body: { words } })).found, true)
}

/** Calls the routes of guests, who have no account. */
async function guests({ document: { call }, home }: Place): Promise<void> {
  const guest = await call(home, 'guestCodes_create', { body: { label: 'A friend' } })
  await call(home, 'guestCodes_qr', id(guest))
  await call(home, 'guestCodes_qr', { ...id(guest), query: '?format=gif' })
  await call(home, 'guestCodes_list')
  await call(home, 'guestCodes_delete', id(guest))
  const external = await call(home, 'externalMembers_create', {
    body: { display_name: 'Plumber', email: 'plumber@example.org' },
  })
  const theirs = await call(home, 'guestCodes_create', {
    body: { label: 'Plumber', external_member_id: external.id },
  })
  await call(home, 'guestCodes_send', { ...id(theirs), body: { channel: 'email' } })
  await call(home, 'externalMembers_list')
  await call(home, 'externalMembers_delete', id(external))
}

/** Calls the routes that organise connections. */
async function arrange({ document: { call }, home }: Place, connection: Json): Promise<void> {
  const tag = await call(home, 'tags_create', { body: { name: 'Work' } })
  await call(home, 'tags_update', { ...id(tag), body: { color: '#2453b8' } })
  const tagged = { params: { id: tag.id as string, cid: connection.id as string } }
  await call(home, 'tags_assign', tagged)
  await call(home, 'tags_unassign', tagged)
  await call(home, 'tags_list')
  const preset = await call(home, 'presets_create', {
    body: { name: 'Customers', tag_ids: [tag.id] },
  })
  await call(home, 'presets_update', { ...id(preset), body: { invitation_expires_in: 86_400 } })
  await call(home, 'presets_setDefault', id(preset))
  await call(home, 'presets_list')
  await call(home, 'presets_clearDefault')
  await call(home, 'presets_delete', id(preset))
  await call(home, 'tags_delete', id(tag))
}

/** Calls the routes of open links, by which strangers ask to connect. */
async function openLinks({ document: { call }, home, server }: Place): Promise<void> {
  await call(home, 'openLinks_suggest')
  const link = await call(home, 'openLinks_create', { body: { title: 'Hello' } })
  await call(home, 'openLinks_pause', id(link))
  await call(home, 'openLinks_resume', id(link))
  const { url } = await call(home, 'openLinks_slug', { ...id(link), body: { slug: 'say-hello' } })
  for (const asking of ['carl@example.org', 'dora@example.org'])
    await askedBy(url as string, join(server.stateDir, 'mail'), asking)
  const [declined, approved] = (await call(home, 'openLinkRequests_list')).items
  await call(home, 'openLinkRequests_decline', id(declined))
  await call(home, 'openLinkRequests_approve', id(approved))
  await call(home, 'openLinks_list')
  await call(home, 'openLinks_delete', id(link))
}

/**
 * Calls the routes of an organisation: a member joins, is suspended and activated again; groups,
 * alerts, figures.
 */
async function organise(place: Place): Promise<void> {
  const { call, refused } = place.document
  const { home } = place
  await refused(home, 'orgMembers_list', 409)
  const { id: organisation_id } = await call(home, 'organisations_create', {
    body: { name: 'Acme' },
  })
  await call(home, 'context_activeOrg', { body: { organisation_id } })
  const { invited, skipped } = await call(home, 'orgMembers_bulkInvite', {
    body: { invites: [{ email: 'erna@example.org' }, { email: 'nobody at all' }] },
  })
  assert.deepEqual([invited.length, skipped[0].reason], [1, 'invalid_email'])
  await refused(home, 'orgMembers_activate', 409, id(invited[0]))
  const erna = await person(place, 'Erna')
  const { user } = await call(erna, 'context_read')
  const member = id(user)
  assert.equal((await call(home, 'orgMembers_read', member)).state, 'active')
  assert.equal((await call(home, 'orgMembers_suspend', member)).state, 'suspended')
  assert.equal((await call(home, 'orgMembers_activate', member)).state, 'active')
  assert.equal((await call(home, 'orgMembers_list')).items.length, 2)

  const group = await call(home, 'orgGroups_create', { body: { name: 'Night shift' } })
  const members = { ...id(group), body: { member_ids: [user.id] } }
  assert.equal((await call(home, 'orgGroups_addMembers', members)).member_count, 1)
  assert.equal((await call(home, 'orgGroups_removeMembers', members)).member_count, 0)
  await call(home, 'orgGroups_update', { ...id(group), body: { description: 'From ten' } })
  await call(home, 'orgGroups_list')

  const { user: self } = await call(home, 'context_read')
  const alert = await call(home, 'orgAlerts_create', {
    body: {
      name: 'Groups go',
      event: 'group_deleted',
      threshold: 1,
      window_minutes: 5,
      notify: [self.id],
    },
  })
  await call(home, 'orgGroups_delete', id(group))
  const [fired] = (await call(home, 'orgAlerts_list')).items
  assert.notEqual(fired.last_fired_at, null)
  await call(home, 'orgAlerts_update', { ...id(alert), body: { enabled: false } })
  await call(home, 'orgAlerts_delete', id(alert))

  await call(home, 'orgActivity_list')
  await call(home, 'orgActivity_summary')
  const { members: byState } = await call(home, 'orgAnalytics_dashboard')
  assert.deepEqual(byState, { invited: 0, active: 2, suspended: 0 })
  await call(home, 'orgAnalytics_trends', { query: '?metric=activity&bucket=week' })
  const today = new Date().toISOString().slice(0, 10)
  await call(home, 'orgAnalytics_trends', {
    query: `?metric=activity&from=${today}&to=${today}`,
    shown: true,
  })
  await call(home, 'context_activeOrg', { body: { organisation_id: null } })
}

/** Calls the routes of the assistant. */
async function assistant({ document: { call }, home }: Place): Promise<void> {
  const turn = await call(home, 'chat_turn', {
    body: { message: 'How do I check a stamp offline?' },
  })
  await call(home, 'chat_rate', { body: { turn_id: turn.turn_id, rating: 'up' } })
  await call(home, 'feedback_send', { body: { message: 'Well done.' } })
}

/** Approves a further device by the words of both screens, ends its session, and revokes it. */
async function devices(place: Place, ada: SignedIn): Promise<void> {
  const { call } = place.document
  const phone = await startSignedIn(place, 'ada@example.org')
  const [newest] = (await call(ada, 'devices_list')).items
  assert.equal(newest.state, 'pending')
  const on = id(newest)
  const path = '/local/v1/sign-in/approval'
  // An API token may not approve.
  const owner = { ...ada, token: ada.daemon.owner() }
  await asOwner(phone.daemon, 'POST', `${path}/attempt`)
  await call(owner, 'approvals_begin', on)
  const shown = await asOwner<SignIn>(phone.daemon, 'POST', `${path}/step`)
  await call(owner, 'approvals_advance', on)
  const { words } = await call(owner, 'approvals_create', {
    ...on,
    body: { words: shown.device_words },
  })
  await asOwner(phone.daemon, 'POST', path, { words })
  await call(ada, 'approvals_read', on)
  const sessions: Json[] = (await call(ada, 'sessions_list')).items
  await call(ada, 'sessions_delete', id(sessions.find(({ current }) => !current)))
  await call(ada, 'devices_delete', on)
}

/** Calls the routes of webhooks, with a receiver on this machine. */
async function webhooks({ document: { call }, home }: Place): Promise<void> {
  const hook = await call(home, 'webhooks_create', {
    body: { url: 'https://hooks.example.org/countersign', types: ['token.*'], name: 'Alarm' },
  })
  await call(home, 'webhooks_list')
  const receiver = createServer((req, res) => {
    req.resume().once('end', () => res.writeHead(204).end())
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as AddressInfo
  const url = `http://localhost:${port}/hook`
  await call(home, 'webhooks_update', { ...id(hook), body: { url, name: 'Local alarm' } })
  await home.daemon.token('read')
  await until('a delivery', async (): Promise<boolean> => {
    const { items } = await call(home, 'webhooks_deliveries', id(hook))
    return items.length > 0
  })
  await call(home, 'webhooks_deliveries', { ...id(hook), shown: true })
  const { delivered } = await call(home, 'webhooks_test', id(hook))
  assert.equal(delivered, true)
  await call(home, 'webhooks_delete', id(hook))
  receiver.closeAllConnections()
  receiver.close()
}

/** Calls the routes that a user needs at the end: exports everything, deletes the connection. */
async function leave({ document: { call }, home }: Place, connection: Json): Promise<void> {
  await call(home, 'emails_create', { body: { address: 'second@example.org' } })
  await call(home, 'emails_list')
  await call(home, 'notifications_list')
  await call(home, 'notifications_read')
  await call(home, 'notifications_delete')
  await call(home, 'exports_create')
  const exported = await until('an export', async (): Promise<Json> => {
    const [newest] = (await call(home, 'exports_list')).items
    return newest.state === 'ready' ? newest : undefined
  })
  await call(home, 'exports_list', { shown: true })
  await call(home, 'exports_download', id(exported))
  await call(home, 'exports_clear')
  await call(home, 'connections_delete', id(connection))
}

/** Calls every route. */
export async function walk(place: Place): Promise<void> {
  const own = await begin(place)
  const ada = await person(place, 'Ada')
  const connection = await connect(place, ada)
  await prove(place, ada, own)
  await guests(place)
  await arrange(place, connection)
  await openLinks(place)
  await organise(place)
  await assistant(place)
  await devices(place, ada)
  await webhooks(place)
  await leave(place, connection)
  await place.document.call(ada, 'account_delete')
}

/**
 * Tests approving a request of an open link.
 * It makes one connection, with any approver and after any lost answer.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Account } from '../../src/api/port.ts'
import type { OpenLinkRequest } from '../../src/api/rest/open-links.ts'
import { approveRequest } from '../../src/device/connections/connections.ts'
import { AppError } from '../../src/errors.ts'
import { openLinkRequests } from '../../src/handlers/invitations.ts'
import { type DeviceUser, type World, worldOf } from '../world/world.ts'
import { lettersIn } from '../service/letters.ts'
import { at } from '../world/requests.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

/** Returns the token of the link that was mailed last. The mail is sent in the background. */
async function mailedToken({ mail }: World, email: string): Promise<string> {
  for (;;) {
    const texts = (await lettersIn(mail, email)).map(({ text }) => text)
    const [, token] = /\/confirm\/([\w-]+)/.exec(texts.join('')) ?? []
    if (token !== undefined) return token
    await setImmediate()
  }
}

/** Makes a confirmed request of Bob at a link of Ada’s. */
async function asked(
  world: World,
  ada: DeviceUser,
  { email = 'bob@example.org', preset_id = null as string | null } = {},
): Promise<OpenLinkRequest> {
  const { openLinkPages, confirmationPages } = world.server.open
  const { slug } = await ada.account().openLinks.create({ body: { preset_id } })
  const body = { display_name: 'Bob from the bank', email, message: '' }
  await openLinkPages.ask({ slug, body }, { key: null })
  const token = await mailedToken(world, email)
  await confirmationPages.confirm({ token, body: {} }, { key: null })
  const [request] = (await ada.account().openLinkRequests.list({})).items
  return request ?? assert.fail('nobody asked')
}

const approve = (user: DeviceUser, id: string, machine: Account | null = null) =>
  openLinkRequests.approve({ id }, at(user, machine))
const connectionsOf = async (user: DeviceUser) => (await user.account().connections.list({})).items
/** Returns the connections with secrets stored on this device. */
const secretsAt = ({ state }: DeviceUser) =>
  state.secrets.ids().filter((id) => id.startsWith('con_'))

/** Returns Ada with a waiting request. */
async function waiting(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  return { world, ada, bob, request: await asked(world, ada) }
}

test('approving a request makes a connection, and the requester joins it', async (t) => {
  const { ada, bob, world, request } = await waiting(t)
  const approved = await approve(ada, request.id)
  const [connection, ...others] = await connectionsOf(ada)
  assert.deepEqual(others, [])
  assert.deepEqual(approved, {
    ...request,
    state: 'approved',
    connection_id: connection?.id,
  })
  assert.deepEqual(await ada.account().openLinkApprovals.read({ id: request.id }), approved)
  assert.equal(connection?.name, 'Bob from the bank')
  await bob.approve()
  await ada.sync()
  await bob.sync()
  world.later()
  assert.equal((await ada.hears(bob.words(connection.id))).verified, true)
})

test('approving again returns the same, on any device of the account', async (t) => {
  const { ada, world, request } = await waiting(t)
  const second = await world.further(ada, 'phone')
  const approved = await approve(ada, request.id)
  for (const user of [ada, second]) assert.deepEqual(await approve(user, request.id), approved)
  assert.equal((await connectionsOf(ada)).length, 1)
  assert.equal((await ada.account().invitations.list({})).sent.length, 1)
})

test('two devices approve at the same moment: one connection, which both get', async (t) => {
  const { ada, world, request } = await waiting(t)
  const second = await world.further(ada, 'phone')
  const [one, other] = await Promise.all([approve(ada, request.id), approve(second, request.id)])
  assert.deepEqual(one, other)
  const [connection, ...others] = await connectionsOf(ada)
  assert.deepEqual([connection?.id, others], [one.connection_id, []])
  // The connection that the loser made is deleted once no device can ask for it any longer.
  world.later(60 * 24 * 8)
  for (const user of [ada, second]) {
    await user.sync()
    assert.deepEqual(secretsAt(user), [one.connection_id])
  }
})

test('approving after a lost answer: the retry returns the same', async (t) => {
  const { ada, request } = await waiting(t)
  const act = { id: randomBytes(16), at: Date.now() }
  const deaf = instead('rosters', 'open', (honest) => async (input) => {
    await honest(input)
    throw new AppError('backend_timeout', 'no answer')
  })(ada.account())
  await assert.rejects(approveRequest(ada.device(), deaf, request.id, act), /no answer/)
  const approved = await approveRequest(ada.device(), ada.account(), request.id, act)
  assert.equal(approved.state, 'approved')
  await ada.sync()
  assert.deepEqual(
    (await connectionsOf(ada)).map(({ id }) => id),
    [approved.connection_id],
  )
  assert.notEqual(ada.words(approved.connection_id!), null)
})

test('approving after a lost request: the retry makes one connection', async (t) => {
  const { ada, request } = await waiting(t)
  const away = instead('rosters', 'open', () => async () => {
    throw new AppError('backend_unavailable', 'away')
  })(ada.account())
  const act = { id: randomBytes(16), at: Date.now() }
  await assert.rejects(approveRequest(ada.device(), away, request.id, act), /away/)
  assert.equal((await approve(ada, request.id)).state, 'approved')
  assert.equal((await connectionsOf(ada)).length, 1)
})

test('declined, foreign and unknown requests: nothing is made', async (t) => {
  const { ada, bob, request } = await waiting(t)
  await rejects('not_found', approve(bob, request.id))
  await rejects('not_found', approve(ada, 'req_01k9zq3v5w8x2y4z6a8b0c2d4e'))
  await rejects('not_found', approve(ada, '..'))
  await ada.account().openLinkRequests.decline({ id: request.id })
  await rejects('invalid_state', approve(ada, request.id), { state: 'declined' })
  for (const user of [ada, bob]) {
    assert.deepEqual(await connectionsOf(user), [])
    assert.deepEqual(secretsAt(user), [])
  }
})

test('a request from the own mailbox: rejected, and it stays pending', async (t) => {
  const { world, ada } = await worldOf(t, 'ada')
  const request = await asked(world, ada, { email: 'ada@example.org' })
  await rejects('invalid_state', approve(ada, request.id), { state: 'self' })
  assert.deepEqual(await connectionsOf(ada), [])
  assert.equal((await ada.account().openLinkApprovals.read(request)).state, 'pending')
})

test('an approval uses the preset of the link, or else the default one', async (t) => {
  const { world, ada } = await worldOf(t, 'ada')
  const { presets } = ada.account()
  const preset = await presets.create({ body: { name: 'Customers', favorite: true } })
  const usual = await presets.create({ body: { name: 'Usual' } })
  await presets.setDefault({ id: usual.id })
  for (const [email, preset_id] of [
    ['bob@example.org', preset.id],
    ['cy@example.org', null],
  ] as const) {
    const { connection_id } = await approve(ada, (await asked(world, ada, { email, preset_id })).id)
    const connection = (await connectionsOf(ada)).find(({ id }) => id === connection_id)
    assert.equal(connection?.preset_id, preset_id ?? usual.id)
    assert.equal(connection?.favorite, preset_id !== null)
  }
})

test('an approval with a machine token, which has no keys: rejected', async (t) => {
  const { world, ada, request } = await waiting(t)
  const machine = world.server.as({ account: ada.id, device: null, session: null, token: 'mtk_1' })
  await rejects('no_device', approve(ada, request.id, machine))
  assert.equal((await ada.account().openLinkApprovals.read(request)).state, 'pending')
  assert.deepEqual(await connectionsOf(ada), [])
})

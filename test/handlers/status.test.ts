/** Tests the status for a rejected session and for an account server that does not answer. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { storeFacts } from '../../src/device/identity/identity.ts'
import { openDeviceSession } from '../../src/device/session/session.ts'
import { AppError } from '../../src/errors.ts'
import { status } from '../../src/handlers/status.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { enrolled } from '../device/enrolled.ts'
import { approved } from '../world/approving.ts'
import { connected, newWorld, worldOf } from '../world/world.ts'
import { at, contextOf } from '../world/requests.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const ended = () => Promise.reject(new AppError('not_signed_in', 'The session is no good.'))

it('an ended session found by any request shows in the status, until a request succeeds', async (t) => {
  let good = false
  const device = await enrolled(t)
  const { list } = device.account.connections
  const far = device.reopen({
    connections: { ...device.account.connections, list: (of) => (good ? list(of) : ended()) },
  })
  const seen = async () => {
    const { authenticated, summary } = await status.read({}, contextOf(far))
    return { authenticated, summary }
  }
  assert.equal((await seen()).authenticated, true, 'nobody asked yet')
  await rejects('not_signed_in', far.account.connections.list({}))
  assert.deepEqual(await seen(), { authenticated: false, summary: 'The session is no good.' })
  good = true
  await far.account.connections.list({})
  assert.equal((await seen()).authenticated, true)
})

it('the status of a device that awaits approval shows an ended session, too', async (t) => {
  const device = await enrolled(t)
  const { keys: _, keyLog: __, ...facts } = device.identity
  storeFacts(device.state, { ...facts, approved: false })
  const deviceSession = openDeviceSession({
    state: device.state,
    keychain: device.store,
    accountOf: () => ({ ...device.account, context: { ...device.account.context, read: ended } }),
    deviceOf: () => device,
    taken: () => undefined,
  })
  const context = contextOf({ ...device, deviceSession })
  const before = await status.read({}, context)
  assert.deepEqual([before.authenticated, /waits for approval/.test(before.summary)], [true, true])
  await rejects('not_signed_in', deviceSession.account().context.read({}))
  const after = await status.read({}, context)
  assert.deepEqual([after.authenticated, after.summary], [false, 'The session is no good.'])
})

it('the status of an unreachable account server: since when, what fails and what works', async (t) => {
  const device = await enrolled(t)
  const before = await status.read({}, contextOf(device))
  assert.deepEqual(
    [before.backend_reachable, before.backend_unreachable_since, before.not_working],
    [true, null, []],
  )
  const since = Date.UTC(2026, 0, 31, 9, 30)
  const away = await status.read(
    {},
    contextOf(device, {}, { reached: { reachable: false, since } }),
  )
  assert.deepEqual(
    [away.backend_reachable, away.backend_unreachable_since],
    [false, '2026-01-31T09:30:00.000Z'],
  )
  assert.match(away.not_working.join(' '), /no copy.*503 backend_unavailable.*change.*Sync/s)
  assert(away.summary.startsWith(before.summary), away.summary)
  assert.match(
    away.summary,
    /has not answered since 2026-01-31T09:30:00\.000Z: .*Words.* work, and lists come from/,
  )
  const unknown = { reachable: null, since: null }
  const asked = await status.read({}, contextOf(device, {}, { reached: unknown }))
  assert.deepEqual([asked.backend_reachable, asked.summary], [null, before.summary])
})

const registered = async (...of: Parameters<typeof at>) =>
  (await status.read({}, at(...of))).device_registered

it('the status shows a device as registered until another one revokes it, also after a restart', async (t) => {
  const world = await newWorld(t)
  const ada = await world.person('ada')
  const laptop = await world.further(ada, 'laptop')
  await laptop.sync()
  assert.equal(await registered(laptop), true)
  await ada.revoke(laptop.deviceId)
  await laptop.device().sync.run('timer')
  assert.equal(await registered(laptop), false)
  assert.equal(await registered(laptop.restart()), false)
  assert.equal(await registered(ada), true)
})

it('the status shows a device that revoked itself as not registered, also without an answer', async (t) => {
  const world = await newWorld(t)
  const ada = await world.person('ada')
  const laptop = await world.further(ada, 'laptop')
  const deaf = laptop.restart(
    instead('keyLogs', 'append', (append) => async (entry) => {
      await append(entry)
      throw new AppError('backend_unavailable', 'The answer is lost.')
    }),
  )
  await assert.rejects(deaf.flow.end({ last_device: false, forget: false }))
  await deaf.device().sync.run('timer')
  assert.equal(await registered(deaf), false)
})

it('the status shows no registered device after the account was deleted', async (t) => {
  const world = await newWorld(t)
  const ada = await world.person('ada')
  const laptop = await world.further(ada, 'laptop')
  const context = at(ada)
  await ada.flow.deleteAccount()
  const { device_registered } = await status.read({}, { ...context, device: null })
  assert.equal(device_registered, false)
  await laptop.device().sync.run('timer')
  assert.equal(await registered(laptop), false)
})

it('the status lists what needs the user, until it is done', async (t) => {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const needs = async () => (await status.read({}, at(bob))).needs_you
  await bob.sync()
  assert.deepEqual(await needs(), [])
  const connection = await ada.connect('Bank')
  await ada.invite(connection, { user_id: bob.id })
  await bob.sync()
  assert.match((await needs()).join(), /^An invitation to answer: countersignd invite list/)
  await bob.approve()
  await ada.sync()
  await bob.sync()
  assert.doesNotMatch((await needs()).join(), /invitation to answer/)
  await trustCards.create({ body: { user_id: ada.id } }, at(bob))
  await world.reset('ada')
  world.later(61)
  await bob.sync()
  assert.match((await needs()).join(), /A person you follow has other keys.*trust list/)
})

it('the status names the people with changed keys and the connections with two histories', async (t) => {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const id = await connected(ada, bob, 'Bank')
  const found = async () => {
    const { changed_keys, forked_connections } = await status.read({}, at(bob))
    return { changed_keys, forked_connections }
  }
  await trustCards.create({ body: { user_id: ada.id } }, at(bob))
  assert.deepEqual(await found(), { changed_keys: [], forked_connections: [] })
  bob.state.connections.holdAll('roster_forked')
  const { name } = bob.state.connections.get(id) ?? assert.fail()
  assert.deepEqual((await found()).forked_connections, [{ id, name, replaced_by: null }])
  await world.reset('ada')
  world.later(61)
  await bob.sync()
  const { changed_keys } = await found()
  const [card] = (await trustCards.list({ limit: 1 }, at(bob))).items
  const { user_id, display_name, name_source, name_marks } = card ?? assert.fail()
  assert.deepEqual(changed_keys, [{ user_id, display_name, name_source, name_marks }])
})

it('the status has the devices that wait for approval, until they are approved or declined', async (t) => {
  const world = await newWorld(t)
  const ada = await world.person('ada')
  const found = async () => {
    await ada.device().sync.run('timer')
    const { waiting_devices: waiting, needs_you: needs } = await status.read({}, at(ada))
    return { names: waiting.map(({ name }) => name), needs: needs.join() }
  }
  assert.deepEqual(await found(), { names: [], needs: '' })
  const laptop = await world.waiting(ada, 'laptop')
  assert.deepEqual(await found(), {
    names: ["laptop's"],
    needs: `The device "laptop's" waits for approval: countersignd device approve`,
  })
  const phone = await world.waiting(ada, 'phone')
  assert.deepEqual(await found(), {
    names: ["laptop's", "phone's"],
    needs: '2 devices wait for approval: countersignd device approve',
  })
  await approved({ approver: await ada.device().approver(), account: ada.account() }, laptop.flow)
  const [, { id } = assert.fail()] = (await status.read({}, at(ada))).waiting_devices
  await ada.account().devices.delete({ id })
  assert.deepEqual((await found()).names, [])
  assert.equal((await phone.flow.read()).state, 'awaiting_approval')
})

it('the status has the name of the account, the state of the clock, and where links lead', async (t) => {
  const world = await newWorld(t)
  const ada = await world.person('ada')
  const found = await status.read({}, at(ada))
  assert.partialDeepStrictEqual(found, {
    display_name: 'ada',
    public_url: found.backend,
    reachable: 'network',
  })
  const clocks: (string | null)[] = []
  for (const days of [0, -2]) {
    world.later(days * 24 * 60)
    clocks.push((await status.read({}, at(ada))).clock)
    await ada.sync()
    clocks.push((await status.read({}, at(ada))).clock)
  }
  assert.deepEqual(clocks, ['unmeasured', 'steady', 'behind', 'steady'])
})

it('the status has the error of the last sync, until one succeeds', async (t) => {
  const { ada, bob } = await worldOf(t, 'ada', 'bob')
  await connected(ada, bob)
  const failing = ada.restart(
    instead(
      'changes',
      'read',
      () => () => Promise.reject(new AppError('backend_unavailable', 'The server is away.')),
    ),
  )
  const last = async (of: typeof ada) => (await status.read({}, at(of))).last_error
  assert.equal(await last(failing), null)
  const { finished_at } = await failing.device().sync.run('timer')
  assert.deepEqual(await last(failing), { at: finished_at, message: 'The server is away.' })
  const well = failing.restart()
  assert.notEqual(await last(well), null, 'also after a restart')
  await well.sync()
  assert.equal(await last(well), null)
})

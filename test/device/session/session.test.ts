/** Tests who is signed in, and that signing out leaves nothing behind. */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { stamp } from '../../../src/handlers/stamp.ts'
import { openDevice } from '../../../src/device/device.ts'
import { openConnection } from '../../../src/device/connections/connections.ts'
import { storeFacts } from '../../../src/device/identity/identity.ts'
import { openDeviceSession } from '../../../src/device/session/session.ts'
import { AppError } from '../../../src/errors.ts'
import { memoryKeychain } from '../../keychain/memory.ts'
import { contextOf } from '../../world/requests.ts'
import { BACKEND, type Enrolled, actAt, enrolled, gate } from '../enrolled.ts'
import { T0 } from '../bench.ts'
import { rejects } from '../../rejects.ts'

/** Returns a device with data of every kind, and the secrets in it. */
async function populated(t: TestContext) {
  const device = await enrolled(t)
  const connection = await device.connect('The name of a bank')
  const guest = await device.invite('The label of a guest')
  await device.verifier.verify('matador carload recede', null)
  await stamp.create({ body: { content: 'x' } }, contextOf(device))
  await device.sync.run('timer')
  const keys = await device.identity.keys()
  const secrets = [
    device.vault.get(connection) as Uint8Array,
    device.vault.get(guest) as Uint8Array,
    keys.sign.secret,
    keys.seal.secret,
    keys.auth.secret,
    Buffer.from(device.store.get('vault') as string, 'hex'),
  ]
  const sealed = Buffer.from(device.state.secrets.get(connection)?.sealed as Uint8Array)
  return { device, connection, guest, secrets, sealed }
}

/** Returns all bytes in the files of a state folder, without those of the account server. */
const stored = ({ dir }: Enrolled) =>
  Buffer.concat(
    readdirSync(dir)
      .filter((name) => name.startsWith('state.db'))
      .map((name) => readFileSync(join(dir, name))),
  )

/** Returns a secret in the encodings in which it might have been written. */
const spellings = (secret: Uint8Array) => {
  const bytes = Buffer.from(secret)
  return [
    bytes,
    ...(['hex', 'base64', 'base64url'] as const).map((as) => Buffer.from(bytes.toString(as))),
  ]
}

/** Opens the sign-in state again from the same storage. */
const reopened = ({ state, store, account, now }: Enrolled, keychain = store) =>
  openDeviceSession({
    state,
    keychain,
    accountOf: () => account,
    deviceOf: (identity) =>
      openDevice({
        state,
        keychain,
        identity,
        account,
        clock: 'own',
        now,
        uptime: { exact: now, recent: now },
        boot: null,
        syncSoon: () => undefined,
        log: () => undefined,
        run: { startedAt: T0, environment: 'embedded', backend: () => BACKEND, keychain: 'file' },
      }),
    taken: () => undefined,
  })

describe('signing out', () => {
  it('leaves no key, no secret and no name in the state or the keychain', async (t) => {
    const { device, secrets, sealed } = await populated(t)
    const { deviceSession, state, store } = device
    assert(stored(device).includes('The label of a guest'), 'what is looked for is there before')
    assert(stored(device).includes(sealed))
    await deviceSession.leave()
    const left = stored(device)
    for (const secret of secrets) for (const form of spellings(secret)) assert(!left.includes(form))
    assert(!left.includes(sealed), 'nor as it was sealed')
    for (const name of ['The name of a bank', 'The label of a guest', device.identity.account])
      assert(!left.includes(name), name)
    for (const entry of ['device', 'session', 'vault']) assert.equal(store.get(entry), null, entry)
    assert.deepEqual(
      [
        state.secrets.ids(),
        state.connections.all(),
        state.guests.all(),
        state.stamps.withoutReceipt(9),
        state.verifications.page(9, null),
        state.logs.read('keylog', device.identity.account),
        state.meta.get('last_sync'),
      ],
      [[], [], [], [], [], [], null],
    )
  })

  it('keeps API tokens and the list of used words', async (t) => {
    const { device } = await populated(t)
    const { home } = contextOf(device)
    const { token, id } = home.tokens.mint({ name: 'n', scope: 'read' })
    const use = { subject: 'gst_x', epoch: 1, speaker: 'gst_x', window: 7 }
    device.state.replays.firstUse(use, 1)
    await device.deviceSession.leave()
    assert.equal(home.tokens.authenticate(token).token, id)
    assert.equal(device.state.replays.firstUse(use, 2), 1)
  })

  it('leaves no identity, here and at the next start', async (t) => {
    const { device } = await populated(t)
    await device.deviceSession.leave()
    for (const deviceSession of [device.deviceSession, reopened(device)]) {
      assert.deepEqual([deviceSession.identity(), deviceSession.device()], [null, null])
      await rejects('not_signed_in', deviceSession.account().connections.list({}))
      await rejects('not_signed_in', deviceSession.account().keyLogs.read({ account: 'acc_x' }))
    }
  })

  it('waits for the running sync, which stores nothing back', async (t) => {
    const { device, connection } = await populated(t)
    const { promise, resolve } = gate()
    const asked = gate()
    device.vault.delete(connection)
    const late = device.reopen({
      envelopes: {
        ...device.account.envelopes,
        read: async (input) => {
          asked.resolve()
          await promise
          return device.account.envelopes.read(input)
        },
      },
    })
    const syncing = late.sync.run('timer')
    await asked.promise
    let gone = false
    const leaving = late.deviceSession.leave().then(() => (gone = true))
    assert.equal(late.deviceSession.identity(), null, 'at once')
    assert.equal(gone, false)
    resolve()
    await leaving
    assert.equal((await syncing).ok, false)
    assert.deepEqual([late.state.secrets.ids(), late.state.meta.get('last_sync')], [[], null])
    assert.equal(late.store.get('vault'), null)
  })

  it('does not keep a connection that the account server confirms afterwards', async (t) => {
    const device = await enrolled(t)
    const late = device.reopen({
      rosters: {
        ...device.account.rosters,
        open: async (input) => {
          const made = await device.account.rosters.open(input)
          await late.deviceSession.leave()
          return made
        },
      },
    })
    await rejects(
      'not_signed_in',
      openConnection(late, late.account, { name: 'n', invite: [] }, actAt(T0)),
    )
    assert.deepEqual([late.state.connections.all(), late.state.secrets.ids()], [[], []])
  })

  for (const entry of ['vault', 'session', 'device'])
    it(`interrupted by a crash at the keychain entry "${entry}" is finished at the next start`, async (t) => {
      const { device } = await populated(t)
      const dying = reopened(device, {
        ...device.store,
        delete: (name) => {
          if (name === entry) throw new Error('crash')
          device.store.delete(name)
        },
      })
      await assert.rejects(dying.leave(), /crash/)
      const deviceSession = reopened(device)
      assert.equal(deviceSession.identity(), null)
      for (const name of ['device', 'session', 'vault']) assert.equal(device.store.get(name), null)
      assert.deepEqual(device.state.secrets.ids(), [])
      assert.equal(device.state.meta.get('leaving'), null)
    })
})

describe('signing in', () => {
  it('a device awaiting approval has an account to read, and no device', async (t) => {
    const device = await enrolled(t)
    const { keys: _, keyLog: __, ...facts } = device.identity
    storeFacts(device.state, { ...facts, approved: false })
    const deviceSession = reopened(device)
    assert.deepEqual([deviceSession.identity()?.approved, deviceSession.device()], [false, null])
    assert.deepEqual((await deviceSession.account().connections.list({})).items, [])
    deviceSession.take({ ...device.identity, approved: true })
    assert.equal(deviceSession.device()?.identity.device, device.identity.device)
  })

  it('notifies the waiting caller', async (t) => {
    const device = await enrolled(t)
    let calls = 0
    const deviceSession = openDeviceSession({
      state: device.state,
      keychain: memoryKeychain(),
      accountOf: () => device.account,
      deviceOf: () => device,
      taken: () => calls++,
    })
    assert.equal(calls, 0, 'not of who was there before')
    deviceSession.take(device.identity)
    assert.equal(calls, 1)
  })

  it('again, with a new session: the running device stays, and the end of the session is cleared', async (t) => {
    const device = await enrolled(t)
    const ended = () => Promise.reject(new AppError('not_signed_in', 'The session is no good.'))
    const { context } = device.account
    let calls = 0
    const deviceSession = openDeviceSession({
      state: device.state,
      keychain: device.store,
      accountOf: () => ({ ...device.account, context: { ...context, read: ended } }),
      deviceOf: () => ({ ...device }),
      taken: () => calls++,
    })
    const before = deviceSession.device()
    await rejects('not_signed_in', deviceSession.account().context.read({}))
    assert.equal(deviceSession.refused(), 'The session is no good.')
    deviceSession.take(device.identity)
    assert.deepEqual([deviceSession.refused(), calls], [null, 1])
    assert.equal(deviceSession.device(), before)
  })
})

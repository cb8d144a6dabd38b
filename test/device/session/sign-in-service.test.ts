/** Tests signing in to an account server over HTTP; the other tests call it in this process. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { serveAccount } from '../../../src/daemon/account-server.ts'
import { readConfig } from '../../../src/config/config.ts'
import { isLinked } from '../../../src/crypto/logs/generations.ts'
import { nameRecoveryKey, vouchFor } from '../../../src/crypto/logs/key-log-entries.ts'
import { newRecoverySeed, recoveryKeyOf } from '../../../src/crypto/recovery-paper.ts'
import { remoteBackend } from '../../../src/daemon/remote.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { environment, folder } from '../../e2e/program.ts'
import { memoryKeychain } from '../../keychain/memory.ts'
import { codeIn, hasCode, lettersIn } from '../../service/letters.ts'
import { approved, shownBy } from '../../world/approving.ts'
import { type Laptop, type Place, newLaptop } from './signing-in.ts'
import '../../declared-errors.ts'
import { type Call, rejects } from '../../rejects.ts'
import { insteadAtDoor, losing } from '../../world/interceptor.ts'

let people = 0
/** Returns the address of a new person. */
const anybody = () => `person-${(people += 1)}@example.org`

describe('over the account server', () => {
  const dir = folder()
  const mail = join(dir.path, 'mail')
  let server: Awaited<ReturnType<typeof serveAccount>>
  let place: Place
  const backends: ReturnType<typeof remoteBackend>[] = []

  before(async () => {
    const config = readConfig(environment(dir.path, { SVC_MAIL_DIR: mail }))
    server = await serveAccount(config, () => undefined)
    const backendFor = (keychain = memoryKeychain()) => {
      const made = remoteBackend({ config, keychain, now: Date.now }, server.address)
      backends.push(made)
      return made
    }
    place = {
      origin: server.address,
      now: Date.now,
      door: backendFor().door,
      accountOf: (identity, keychain, again) => backendFor(keychain).accountOf(identity, again),
      code: async (email) => {
        const newest = (await lettersIn(mail, email)).findLast(hasCode)
        return newest === undefined ? assert.fail(`no mail to ${email}`) : codeIn(newest)
      },
    }
  })
  after(async () => {
    for (const backend of backends) backend.stop()
    await server.close()
    dir.remove()
  })

  async function person(t: TestContext, email = anybody()) {
    const laptop = newLaptop(t, place, 'desk')
    await laptop.signIn({ email })
    return { email, laptop, account: laptop.identity().account }
  }
  const logOf = async ({ deviceSession, identity }: Laptop) =>
    (await deviceSession.account().keyLogs.read({ account: identity().account })).entries

  it('a first device is signed in, and again after another start', async (t) => {
    const { email, laptop, account } = await person(t)
    const { user } = await laptop.restart().deviceSession.account().context.read({})
    assert.deepEqual([user.id, user.email, user.kind], [account, email, 'person'])
  })

  it('wrong, used and expired codes are rejected', async (t) => {
    const { email } = await person(t)
    const other = newLaptop(t, place)
    await other.flow.begin(anybody())
    const wrong = ['', 'XXXX', 'AAAA-AAAA-AAAA-AAAA', await place.code(email)]
    for (const code of wrong)
      await rejects('not_signed_in', other.flow.code({ code, reset: false }), {
        says: /wrong, used or expired/,
      })
  })

  it('a further device can only read until it checked the log that names it', async (t) => {
    const { email, laptop: old, account } = await person(t)
    const fresh = newLaptop(t, place, 'laptop 2')
    const { state } = await fresh.signIn({ email })
    assert.equal(state, 'awaiting_approval')
    assert.equal((await fresh.deviceSession.account().context.read({})).user.id, account)
    const write = () => fresh.deviceSession.account().organisations.create({ body: { name: 'x' } })
    await rejects('forbidden', write)
    const early = (call: Call) =>
      rejects('invalid_state', call, { state: 'no_attempt', says: /No approval of this device/ })
    await early(fresh.flow.approve('a'))
    const { id, words } = await shownBy(old, fresh.flow)
    const shown = await old.approver.approve(old.account, id, words)
    assert.equal(shown.device_name, 'laptop 2')
    await rejects('forbidden', write)
    assert.deepEqual(await old.approver.approve(old.account, id, words), shown)
    assert.equal((await fresh.flow.approve(shown.words)).state, 'signed_in')
    assert.equal((await write()).role, 'owner')
    assert.deepEqual(await logOf(fresh), await logOf(old))
  })

  it('a new device that gives up is deleted, and signs in again as another', async (t) => {
    const { email, laptop: old } = await person(t)
    const fresh = newLaptop(t, place, 'laptop 2')
    await fresh.signIn({ email })
    const gone = fresh.identity().device
    await fresh.flow.end({ last_device: false, forget: false })
    const asked = old.deviceSession.account().pendingDevices.read({ id: gone })
    await rejects('not_found', asked)
    assert.equal((await fresh.signIn({ email })).state, 'awaiting_approval')
  })

  it('logout: the device is revoked, and only a reset brings the account back', async (t) => {
    const { email, laptop, account } = await person(t)
    await rejects('invalid_state', laptop.flow.end({ last_device: false, forget: false }), {
      state: 'last_device',
      says: /countersignd reset/,
    })
    await laptop.flow.end({ last_device: true, forget: false })
    await rejects('invalid_state', laptop.signIn({ email }), {
      state: 'all_devices_lost',
      says: /countersignd reset/,
    })
    const code = await place.code(email)
    assert.equal((await laptop.flow.code({ code, reset: true })).account_id, account)
    assert.equal((await laptop.identity().keyLog()).generation, 2)
  })

  it('a session that ended: a code gives the same device another', async (t) => {
    const { email, laptop, account } = await person(t)
    const { device } = laptop.identity()
    await laptop.deviceSession.account().currentSession.delete({})
    await rejects('not_signed_in', laptop.deviceSession.account().context.read({}))
    const { state } = await laptop.signIn({ email })
    assert.deepEqual([state, laptop.identity().device], ['signed_in', device])
    assert.equal((await laptop.deviceSession.account().context.read({})).user.id, account)
    assert.equal((await logOf(laptop)).length, 1)
  })

  for (const row of ['create', 'further'] as const)
    it(`the answer of enrolment.${row} is lost: enrolled once, with a code and with a key`, async (t) => {
      const { laptop: owner, email } = await person(t)
      const door = () => insteadAtDoor('enrolment', row as never, losing(2) as never)
      const laptop = newLaptop(t, place, 'lossy', { door: door() })
      await laptop.signIn({ email: row === 'create' ? anybody() : email })
      assert((await logOf(laptop)).length === 1)
      const key = await machineOf(owner)
      if (row === 'further') await newLaptop(t, place).flow.machine({ key, reset: false })
      const bot = newLaptop(t, place, 'rack', { door: door() })
      const { state } = await bot.flow.machine({ key, reset: false })
      assert.equal(state, row === 'create' ? 'signed_in' : 'awaiting_approval')
      const { items } = await bot.deviceSession.account().devices.list({})
      assert.equal(items.length, row === 'create' ? 1 : 2)
    })

  it('a machine account’s device that is revoked or was rejected', async (t) => {
    const { laptop: owner } = await person(t)
    const key = await machineOf(owner)
    const bot = newLaptop(t, place, 'rack')
    await bot.flow.machine({ key, reset: false })
    const waiting = newLaptop(t, place, 'rack 2')
    await waiting.flow.machine({ key, reset: false })
    const { device: id } = waiting.identity()
    await bot.deviceSession.account().devices.delete({ id })
    const read = (of: Laptop) => of.deviceSession.account().context.read({})
    await rejects('not_signed_in', read(waiting), { says: /was rejected before/ })
    const asked = bot.deviceSession.account().pendingDevices.read({ id })
    await rejects('not_found', asked)

    await newLaptop(t, place, 'new').flow.machine({ key, reset: true })
    const isRevoked = (call: Call) =>
      rejects('not_signed_in', call, { says: /revoked.*countersignd logout --forget/ })
    await isRevoked(read(bot))
    await isRevoked(bot.flow.machine({ key, reset: false }))
    await bot.flow.end({ last_device: false, forget: true })
    assert.equal((await bot.flow.machine({ key, reset: false })).state, 'awaiting_approval')
  })

  it('a machine account returns with its recovery key; another key is rejected, and the device still waits', async (t) => {
    const { laptop: owner } = await person(t)
    const key = await machineOf(owner)
    const bot = newLaptop(t, place, 'rack')
    await bot.flow.machine({ key, reset: false })
    const { account, device: by, kid, keys, keyLog } = bot.identity()
    const paper = recoveryKeyOf(newRecoverySeed())
    const seed = (await keys()).sign.secret
    const named = nameRecoveryKey({ log: await keyLog(), key: paper.jwk, by, kid, seed, at: 1 })
    await bot.deviceSession.account().keyLogs.append({ body: { entry: named } })

    const next = newLaptop(t, place, 'rack 2')
    await next.flow.machine({ key, reset: false })
    const plan = (recovery_key: string) => next.flow.planReset({ by: { key }, recovery_key })
    const other = recoveryKeyOf(newRecoverySeed())
    await rejects('invalid_state', plan(other.jwk.x), {
      state: 'other_recovery_key',
      says: /not the words/,
    })
    assert.equal((await next.flow.read()).state, 'awaiting_approval')
    const { unsigned } = await plan(paper.jwk.x)
    const entry = { op: 'reset', ...(unsigned ?? assert.fail('nothing to sign')) } as const
    const recovery_sig = vouchFor(entry, paper)
    const { state } = await next.flow.machine({ key, reset: true, recovery_sig })
    const log = await next.identity().keyLog()
    assert.deepEqual([state, log.account, isLinked(log, 1, 2)], ['signed_in', account, true])
  })

  it('reset: every earlier device loses access at once', async (t) => {
    const { email, laptop: lost, account } = await person(t)
    const fresh = newLaptop(t, place, 'new')
    await fresh.signIn({ email, reset: true })
    assert.equal(fresh.identity().account, account)
    await rejects('not_signed_in', lost.deviceSession.account().context.read({}))
    await lost.flow.end({ last_device: false, forget: true })
    assert.equal((await logOf(fresh)).length, 2)
  })

  /** Returns the key of a new machine account. */
  async function machineOf(owner: Laptop) {
    const { sign } = newDeviceKeys()
    const { id } = await owner.deviceSession
      .account()
      .organisations.create({ body: { name: 'Acme' } })
    const body = { organisation_id: id, name: 'bot', key: sign.jwk }
    const { machine_id: machine, token_endpoint } = await owner.deviceSession
      .account()
      .machines.create({ body })
    const d = Buffer.from(sign.secret).toString('base64url')
    const { x } = sign.jwk
    return { kty: 'OKP', crv: 'Ed25519', x, d, machine, token_endpoint } as const
  }

  it('a machine account signs in, renews a lost session by itself, and cannot after a revocation', async (t) => {
    const { laptop: owner } = await person(t)
    const key = await machineOf(owner)
    const bot = newLaptop(t, place, 'rack')
    const signedIn = await bot.flow.machine({ key, reset: false })
    assert.equal(signedIn.state, 'signed_in')
    const { account } = bot.identity()
    assert.equal(signedIn.account_id, account)
    const { device, session } = bot.identity()

    await bot.deviceSession.account().currentSession.delete({})
    const next = bot.restart()
    const asked = Array.from({ length: 5 }, () => next.deviceSession.account().context.read({}))
    for (const { user } of await Promise.all(asked)) assert.equal(user.id, account)
    assert.notEqual(next.identity().session, session)
    assert.equal(next.identity().device, device)
    assert.equal((await logOf(next)).length, 1)

    const second = newLaptop(t, place, 'rack 2')
    await second.flow.machine({ key, reset: false })
    await approved(next, second.flow)
    await second.deviceSession.account().currentSession.delete({})
    assert.equal((await second.restart().deviceSession.account().context.read({})).user.id, account)
    assert.equal(second.identity().approved, true)

    await second.restart().flow.end({ last_device: false, forget: false })
    await next.flow.end({ last_device: true, forget: false })
    const { keychain, state } = bot
    assert.deepEqual([keychain.get('machine'), keychain.get('device')], [null, null])
    assert.equal(state.meta.get('identity'), null)
    await rejects('invalid_state', next.flow.machine({ key, reset: false }), {
      state: 'all_devices_lost',
      says: /countersignd reset/,
    })
  })
})

/** Tests an enrolment that is interrupted, and what remains of it at the next start. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { openDaemon } from '../../src/daemon/daemon.ts'
import { enrol } from '../../src/device/session/enrolment.ts'
import { keepWay, newDraft } from '../../src/device/session/sign-in-draft.ts'
import { openIdentity } from '../../src/device/identity/identity.ts'
import { openKeychain } from '../../src/keychain/keychain.ts'
import { newLog } from '../../src/log.ts'
import { openState } from '../../src/state/state.ts'
import { openService } from '../../src/service/service.ts'
import { environment } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { NAMES, enrolled, newGround } from './enrolled.ts'
import { rejects } from '../rejects.ts'

const crash = () => {
  throw new Error('crash')
}

describe('enrolment', () => {
  it('returns an identity with a valid log and keys, which a restart reads', async (t) => {
    const { identity, reopen, account } = await enrolled(t)
    const again = reopen().identity
    assert.deepEqual(
      [again.account, again.device, again.kid, again.session],
      [identity.account, identity.device, identity.kid, identity.session],
    )
    assert.deepEqual(
      [...(await again.keyLog()).entries],
      (await account.keyLogs.read({ account: identity.account })).entries,
    )
    assert.deepEqual(await again.keys(), await identity.keys())
  })

  it('a keychain without the keys: keychain_locked, and no new keys are made', async (t) => {
    const { store: keychain, state } = await enrolled(t)
    keychain.delete('device')
    const identity = openIdentity(state, keychain)
    await rejects('keychain_locked', () => identity?.keys())
    assert.equal(keychain.get('device'), null)
  })

  it('a keychain without the key of the vault: keychain_locked, and no second key is made', async (t) => {
    const device = await enrolled(t)
    const id = await device.connect()
    device.store.delete('vault')
    const { vault } = device.reopen()
    for (const use of [() => vault.get(id), () => vault.put('con_x', new Uint8Array(32))])
      assert.throws(use, { code: 'keychain_locked' })
    assert.equal(device.store.get('vault'), null)
  })

  it('a crash before the server answered: the same account at the next start', async (t) => {
    const { state, keychain, door, codeFor, clock } = await newGround(t)
    const dead = { ...door, enrolment: { ...door.enrolment, create: async () => crash() } }
    await assert.rejects(enrol(state, keychain, dead, codeFor, NAMES, clock.ms), /crash/)
    const draft = state.meta.get('enrolment') as { account: string }
    assert.equal(openIdentity(state, keychain), null)
    const made = await enrol(state, keychain, door, codeFor, NAMES, clock.ms)
    assert.equal(made.account, draft.account)
    assert.equal(state.meta.get('enrolment'), null)
  })

  it('a crash between the server’s enrolment and the local record: the same account', async (t) => {
    const { state, keychain, server, door, codeFor, clock } = await newGround(t)
    const full = {
      ...keychain,
      set: (name: string, secret: string) =>
        name === 'session' ? crash() : keychain.set(name, secret),
    }
    await assert.rejects(enrol(state, full, door, codeFor, NAMES, clock.ms), /crash/)
    const draft = state.meta.get('enrolment') as { account: string }
    const made = await enrol(state, keychain, door, codeFor, NAMES, clock.ms)
    assert.equal(made.account, draft.account)
    const { account, device, session } = made
    assert.equal(
      (await server.as({ account, device, session, token: null }).context.read({})).user.id,
      account,
    )
  })

  it('an unfinished sign-in to another server keeps its keys', async (t) => {
    const { state, keychain, door, codeFor, clock } = await newGround(t)
    const maker = { server: 'https://far.test', holder: 'ada@example.org' }
    const draft = await newDraft(state, keychain, maker, clock.ms)
    keepWay(state, draft, { account: 'acc_00000000000000000000000000', entry: null })
    const keys = keychain.get('device')
    await assert.rejects(enrol(state, keychain, door, codeFor, NAMES, clock.ms), {
      name: 'StartError',
      message: /ada@example\.org.*https:\/\/far\.test was not finished.*logout --forget/,
    })
    assert.equal(keychain.get('device'), keys)
  })

  it('an enrolment for another account than the requested one is rejected', async (t) => {
    const [{ state, keychain, door, codeFor, clock }, other] = [
      await newGround(t),
      await enrolled(t),
    ]
    const lying = {
      ...door,
      enrolment: {
        ...door.enrolment,
        create: async (input: Parameters<typeof door.enrolment.create>[0]) => ({
          ...(await door.enrolment.create(input)),
          account_id: other.identity.account,
        }),
      },
    }
    await assert.rejects(
      enrol(state, keychain, lying, codeFor, NAMES, clock.ms),
      /did not enrol the requested account/,
    )
    assert.equal(openIdentity(state, keychain), null)
  })
})

describe('the daemon after a crash in its first start', () => {
  it('continues as the account that the server enrolled', async (t) => {
    const dir = freshFolder(t)
    // The first start, up to the server’s answer.
    const state = openState(dir)
    const keychain = await openKeychain({ stateDir: dir, choice: 'file', credentialsDir: null })
    const server = await openService({
      url: null,
      file: join(dir, 'account.db'),
      publicUrl: () => '',
      version: '0',
      now: Date.now,
      mail: { dir: join(dir, 'mail') },
      from: 'accounts@countersign.test',
      log: () => undefined,
    })
    const door = server.door({ key: null })
    const full = {
      ...keychain,
      set: (name: string, secret: string) =>
        name === 'session' ? crash() : keychain.set(name, secret),
    }
    await assert.rejects(
      enrol(state, full, door, () => server.newEnrolmentCode(), NAMES, Date.now()),
      /crash/,
    )
    const { account } = state.meta.get('enrolment') as { account: string }
    await server.close()
    state.close()

    const lines: string[] = []
    const log = newLog('debug', (line) => lines.push(line))
    const daemon = await openDaemon(readConfig(environment(dir)), log)
    await daemon.enrol()
    await daemon.close()
    const after = openState(dir)
    t.after(() => after.close())
    assert.equal(openIdentity(after, keychain)?.account, account)
  })
})

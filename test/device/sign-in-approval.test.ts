/** The second laptop: read-only until both word checks are done, whatever the account server says. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { logWords } from '../../src/crypto/approval.ts'
import { type DeviceKeys, newDeviceKeys, publicKeys } from '../../src/crypto/device-keys-v1.ts'
import { newId } from '../../src/crypto/id.ts'
import { thumbprint } from '../../src/crypto/jwk.ts'
import { addDevice, addFirst, revokeDevice, verifyKeyLog } from '../../src/crypto/key-log-v1.ts'
import type { AppError } from '../../src/errors.ts'
import { testServer } from './sign-in-server.ts'
import { crashAt, crashing, newLaptop, refusedWith, type Laptop } from './signing-in.ts'

const OTHERS = 'matador carload recede matador carload recede'

/** Two laptops of one person, the second one waiting, and the words on its screen. */
async function twoLaptops(t: TestContext) {
  const server = testServer()
  const old = newLaptop(t, server, 'desk')
  await old.signIn()
  const { account } = old.identity()
  const fresh = newLaptop(t, server, 'laptop 2')
  const waiting = await fresh.signIn()
  assert.deepEqual(
    [waiting.state, waiting.account_id, waiting.device_words?.split(' ').length],
    ['awaiting_approval', account, 6],
  )
  return { server, old, fresh, account, words: waiting.device_words as string }
}

const isWaiting = async ({ flow, identity, state }: Laptop) => {
  assert.equal((await flow.read()).state, 'awaiting_approval')
  assert.equal(identity().approved, false)
  assert.equal(state.logs.head('keylog', identity().account), null)
}

describe('approval', () => {
  it('both word checks: the newcomer is signed in, and both know the same log', async (t) => {
    const { server, old, fresh, account, words } = await twoLaptops(t)
    assert.equal(fresh.seat.device(), null, 'read-only')
    const restarted = fresh.restart()
    assert.equal((await restarted.flow.read()).device_words, words, 'the words stay')
    const shown = await old.approve(fresh.identity().device, words.toUpperCase())
    assert.equal(shown.device_name, 'laptop 2')
    assert.equal(fresh.identity().approved, false, 'one check is not two')
    const done = await restarted.flow.approve(` ${shown.words.replaceAll(' ', '-')} `)
    assert.deepEqual([done.state, done.device_words], ['signed_in', null])
    assert.notEqual(restarted.seat.device(), null)
    for (const { identity } of [old, restarted])
      assert.deepEqual((await identity().keyLog()).entries, server.logs.get(account))
    assert.equal((await restarted.restart().flow.read()).state, 'signed_in')
    assert.equal((await restarted.flow.approve(OTHERS)).state, 'signed_in', 'done is done')
  })

  it('the approving device knows the grown log at once', async (t) => {
    const { old, fresh, words } = await twoLaptops(t)
    const identity = old.seat.identity()
    assert.equal((await identity?.keyLog())?.seq, 0)
    await old.approve(fresh.identity().device, words)
    assert.equal((await identity?.keyLog())?.seq, 1)
  })

  it('before the other device approved: it is told to do so', async (t) => {
    const { fresh } = await twoLaptops(t)
    await assert.rejects(
      fresh.flow.approve(OTHERS),
      refusedWith('invalid_state', /^Not approved yet: do it on the other device first/),
    )
    await isWaiting(fresh)
  })

  const slips: [typed: string, code: AppError['code'], says: RegExp][] = [
    ['matador carload', 'word_count', /Six words are wanted; 2 were given/],
    [`matadorx ${OTHERS.slice(8)}`, 'unknown_word', /"matadorx" is not on the word list.*matador/],
  ]
  const others: typeof slips = [[OTHERS, 'validation_failed', /may be dishonest/]]
  for (const [typed, code, says] of [...slips, ...others]) {
    it(`on the old device, "${typed}": ${code}, nothing signed`, async (t) => {
      const { server, old, fresh, account } = await twoLaptops(t)
      await assert.rejects(old.approve(fresh.identity().device, typed), refusedWith(code, says))
      assert.equal(server.logOf(account).seq, 0)
    })

    it(`on the new device, "${typed}": ${code}, nothing changed`, async (t) => {
      const { old, fresh, words } = await twoLaptops(t)
      const shown = await old.approve(fresh.identity().device, words)
      await assert.rejects(fresh.flow.approve(typed), refusedWith(code, says))
      await isWaiting(fresh)
      assert.equal((await fresh.flow.approve(shown.words)).state, 'signed_in')
    })
  }

  it('approved a second time before the newcomer confirmed: the same words, nothing added', async (t) => {
    const { server, old, fresh, account, words } = await twoLaptops(t)
    const { device } = fresh.identity()
    const first = await old.approve(device, words)
    assert.deepEqual(await old.approve(device, words), first)
    assert.equal(server.logOf(account).seq, 1)
  })

  it('an id that waits for nothing', async (t) => {
    const { old, words } = await twoLaptops(t)
    await assert.rejects(old.approve(newId('dev_', 1), words), refusedWith('not_found', /waits/))
  })

  it('another device was faster: signed anew on top of it', async (t) => {
    const { server, old, fresh, account, words } = await twoLaptops(t)
    const third = newLaptop(t, server, 'phone')
    const { device_words } = await third.signIn()
    let raced = false
    const slow = old.restart({
      account: (own) => ({
        ...own,
        keyLogs: {
          ...own.keyLogs,
          append: async (input) => {
            if (!raced) {
              raced = true
              await old.approve(third.identity().device, device_words as string)
            }
            return own.keyLogs.append(input)
          },
        },
      }),
    })
    const shown = await slow.approve(fresh.identity().device, words)
    assert.equal(server.logOf(account).seq, 2)
    assert.equal((await fresh.flow.approve(shown.words)).state, 'signed_in')
  })

  it('a newcomer that gives up ends its session and waits no more', async (t) => {
    const { server, fresh } = await twoLaptops(t)
    const { device } = fresh.identity()
    await fresh.flow.end({ last_device: false, forget: false })
    assert.equal((await fresh.flow.read()).state, 'signed_out')
    assert(!server.devices.has(device))
    assert.equal((await fresh.signIn()).state, 'awaiting_approval')
    assert.notEqual(fresh.identity().device, device)
  })

  it('a newcomer that was turned away meanwhile can leave', async (t) => {
    const { server, fresh } = await twoLaptops(t)
    server.devices.delete(fresh.identity().device)
    await fresh.flow.end({ last_device: false, forget: false })
    assert.equal((await fresh.flow.read()).state, 'signed_out')
  })

  it('a crash at any step of the newcomer’s check: the same words again finish it', async (t) => {
    for (let at = 1; ; at++) {
      const { old, fresh, words } = await twoLaptops(t)
      const shown = await old.approve(fresh.identity().device, words)
      const { arm, step, crashed } = crashAt(at)
      const { state } = fresh
      const dying = fresh.restart({
        state: { ...state, meta: crashing(state.meta, step), logs: crashing(state.logs, step) },
        account: (account) => crashing(account, step),
      })
      arm()
      await dying.flow.approve(shown.words).catch(() => undefined)
      if (!crashed()) break
      const next = fresh.restart()
      assert.equal((await next.flow.approve(shown.words)).state, 'signed_in', `crash ${at}`)
      assert.equal((await next.identity().keyLog()).seq, 1)
    }
  })
})

describe('a dishonest account server', () => {
  const signer = (id: string, keys: DeviceKeys) => ({
    by: id,
    kid: thumbprint(keys.sign.jwk),
    seed: keys.sign.secret,
    at: 1,
  })

  /** The account as the server shows it: some answers replaced. */
  const showing =
    (of: { pending?: object[]; log?: readonly string[]; told?: (what: string) => void }) =>
    (account: Account): Account => ({
      ...account,
      ...(of.pending === undefined
        ? {}
        : { pendingDevices: { list: async () => ({ items: of.pending as never }) } }),
      keyLogs: {
        read: async (input) =>
          of.log === undefined ? account.keyLogs.read(input) : { entries: [...of.log] },
        append: async (input) => {
          of.told?.('a signed entry')
          return account.keyLogs.append(input)
        },
      },
      approval: {
        create: async (input) => {
          of.told?.('a confirmation')
          return account.approval.create(input)
        },
      },
    })

  it('offers its own "laptop 2" under the id of the real one: it gets no signature', async (t) => {
    const { server, old, fresh, account, words } = await twoLaptops(t)
    const { device } = fresh.identity()
    const told: string[] = []
    const real = publicKeys(await fresh.identity().keys())
    const own = publicKeys(newDeviceKeys())
    const offers = [
      { id: device, keys: own },
      ...(['sign', 'seal', 'auth'] as const).map((use) => ({
        id: device,
        keys: { ...real, [use]: own[use] },
      })),
      { id: newId('dev_', 1), keys: real },
      { id: newId('dev_', 1), keys: own },
    ]
    for (const offer of offers) {
      const item = { name: 'laptop 2', platform: 'linux', created_at: '', ...offer }
      const deceived = old.restart({
        account: showing({ pending: [item], told: (what) => told.push(what) }),
      })
      await assert.rejects(
        deceived.approve(item.id, words),
        refusedWith('validation_failed', /nothing was signed[^]*may be dishonest/),
      )
    }
    assert.deepEqual(told, [])
    assert.equal(server.logOf(account).seq, 0)
  })

  it('offers keys that are none: refused', async (t) => {
    const { old, words } = await twoLaptops(t)
    const keys = publicKeys(newDeviceKeys())
    const id = newId('dev_', 1)
    const item = { id, name: 'x', keys: { ...keys, sign: { ...keys.sign, x: 'AA' } } }
    const deceived = old.restart({ account: showing({ pending: [item] }) })
    await assert.rejects(deceived.approve(id, words), refusedWith('backend_error', /dishonest/))
  })

  it('shows the newcomer a log of its own making: refused, nothing kept or confirmed', async (t) => {
    const { old, fresh, account, words } = await twoLaptops(t)
    const { device, keys } = fresh.identity()
    const shown = await old.approve(device, words)
    const mine = newDeviceKeys()
    const by = newId('dev_', 1)
    const forged = [addFirst({ account, device: by, keys: mine, at: 1 })]
    const of = { id: device, keys: publicKeys(await keys()) }
    forged.push(addDevice({ log: verifyKeyLog(account, forged), device: of, ...signer(by, mine) }))
    const told: string[] = []
    const deceived = fresh.restart({
      account: showing({ log: forged, told: (what) => told.push(what) }),
    })
    await assert.rejects(
      deceived.flow.approve(shown.words),
      refusedWith('validation_failed', /nothing was changed[^]*may be dishonest/),
    )
    assert.deepEqual(told, [])
    await isWaiting(fresh)
    assert.equal((await fresh.restart().flow.approve(shown.words)).state, 'signed_in')
  })

  it('shows a log that has other keys for the newcomer, with the right words for it: refused', async (t) => {
    const { fresh, account } = await twoLaptops(t)
    const { device } = fresh.identity()
    const mine = newDeviceKeys()
    const by = newId('dev_', 1)
    const first = verifyKeyLog(account, [addFirst({ account, device: by, keys: mine, at: 1 })])
    const of = { id: device, keys: publicKeys(newDeviceKeys()) }
    const added = addDevice({ log: first, device: of, ...signer(by, mine) })
    const log = verifyKeyLog(account, [...first.entries, added])
    const deceived = fresh.restart({ account: showing({ log: log.entries }) })
    const words = logWords({ account, head: log.head }).join(' ')
    await assert.rejects(deceived.flow.approve(words), refusedWith('backend_error', /other keys/))
    await isWaiting(fresh)
  })

  it('withholds the newest entries, from the newcomer and from the old device', async (t) => {
    const { server, old, fresh, account, words } = await twoLaptops(t)
    const before = [...(server.logs.get(account) ?? [])]
    const shown = await old.approve(fresh.identity().device, words)
    await assert.rejects(
      fresh.restart({ account: showing({ log: before }) }).flow.approve(shown.words),
      refusedWith('invalid_state', /Not approved yet/),
    )
    const { device_words } = await newLaptop(t, server, 'phone').signIn()
    const phone = [...server.devices].find(([, { name }]) => name === 'phone')?.[0] as string
    await assert.rejects(
      old.restart({ account: showing({ log: before }) }).approve(phone, device_words as string),
      refusedWith('backend_error', /\(rollback\)[^]*dishonest/),
    )
  })

  it('says that the newcomer is approved, or that it signed in as the first: believed neither', async (t) => {
    const server = testServer()
    const old = newLaptop(t, server, 'desk')
    await old.signIn()
    const { further } = server.door.enrolment
    const lying: typeof further = async (input) => ({ ...(await further(input)), approved: true })
    const door = { ...server.door, enrolment: { ...server.door.enrolment, further: lying } }
    const fresh = newLaptop(t, server, 'laptop 2', { door })
    assert.equal((await fresh.signIn()).state, 'awaiting_approval')
    await isWaiting(fresh)
  })

  it('offers a device again that was revoked, whose words are known: refused', async (t) => {
    const { server, old, fresh, account, words } = await twoLaptops(t)
    const { device, keys } = fresh.identity()
    const item = { id: device, name: 'laptop 2', keys: publicKeys(await keys()) }
    const shown = await old.approve(device, words)
    await fresh.flow.approve(shown.words)
    await fresh.flow.end({ last_device: false, forget: false })
    const deceived = old.restart({ account: showing({ pending: [item] }) })
    await assert.rejects(deceived.approve(device, words), refusedWith('conflict', /revoked/))
    assert.equal(server.logOf(account).seq, 2)
  })

  it('shows a newcomer that was revoked: told so, and not let in', async (t) => {
    const { server, old, fresh, account, words } = await twoLaptops(t)
    await old.approve(fresh.identity().device, words)
    const { device, keys } = old.identity()
    const log = server.logOf(account)
    const entry = revokeDevice({
      log,
      device: fresh.identity().device,
      ...signer(device, await keys()),
    })
    const deceived = fresh.restart({ account: showing({ log: [...log.entries, entry] }) })
    await assert.rejects(deceived.flow.approve(OTHERS), refusedWith('invalid_state', /was revoked/))
    await isWaiting(fresh)
  })
})

/**
 * A dishonest account server against an approval: devices of its own, other logs, answers of its
 * own. Nothing is signed, and the new device takes no log.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { commitmentTo } from '../../src/crypto/device-approval.ts'
import { newDeviceKeys, publicKeys } from '../../src/crypto/device-keys.ts'
import { newId } from '../../src/crypto/id.ts'
import { thumbprint } from '../../src/crypto/jwk.ts'
import {
  type KeyLog,
  addDevice,
  addFirst,
  resetLog,
  revokeDevice,
  verifyKeyLog,
} from '../../src/crypto/key-log.ts'
import { checkOwnEntry } from '../../src/crypto/own-entry.ts'
import type { AppError } from '../../src/errors.ts'
import { hashedKeys } from '../../src/device/approval-keys.ts'
import { added, approved, shownBy } from './approving.ts'
import { testServer } from './sign-in-server.ts'
import { newLaptop, refusedWith, type Laptop } from './signing-in.ts'

type Signer = { by: string; kid: string; seed: Uint8Array; at: number }

async function signerOf({ identity }: Laptop): Promise<Signer> {
  const { device, kid, keys } = identity()
  return { by: device, kid, seed: (await keys()).sign.secret, at: 1 }
}

async function twoLaptops(t: TestContext) {
  const server = testServer()
  const old = newLaptop(t, server, 'desk')
  await old.signIn()
  const { account } = old.identity()
  const fresh = newLaptop(t, server, 'laptop 2')
  await fresh.signIn()
  const newcomer = {
    id: fresh.identity().device,
    keys: publicKeys(await fresh.identity().keys()),
  }
  return { server, old, fresh, account, newcomer, by: await signerOf(old) }
}

const isWaiting = async ({ flow, identity, state }: Laptop) => {
  assert.equal((await flow.read()).state, 'awaiting_approval')
  assert.equal(identity().approved, false)
  assert.equal(state.logs.head('keylog', identity().account), null)
}

type Read = Awaited<ReturnType<Account['pendingDevices']['read']>>

/** The account, where what is relayed of the new device is changed on its way. */
const relaying =
  (change: (read: Read) => Read) =>
  (account: Account): Account => ({
    ...account,
    pendingDevices: {
      ...account.pendingDevices,
      read: async (input) => change(await account.pendingDevices.read(input)),
    },
  })

/** The account, where the key log is another. */
const showing =
  (entries: () => readonly string[]) =>
  (account: Account): Account => ({
    ...account,
    keyLogs: { ...account.keyLogs, read: async () => ({ entries: [...entries()] }) },
  })

describe('what the approving device is shown', () => {
  const random = () => encodeBase64url(new Uint8Array(randomBytes(32)))
  const evil = publicKeys(newDeviceKeys())
  const reveals: [what: string, change: (reveal: NonNullable<Read['reveal']>) => object][] = [
    ['other keys', () => ({ keys: evil })],
    ['another signing key', ({ keys }) => ({ keys: { ...keys, sign: evil.sign } })],
    ['another sealing key', ({ keys }) => ({ keys: { ...keys, seal: evil.seal } })],
    ['another authentication key', ({ keys }) => ({ keys: { ...keys, auth: evil.auth } })],
    ['another nonce', () => ({ nonce: random() })],
    ['another account', () => ({ account: newId('acc_', 1) })],
    ['another device', () => ({ device: newId('dev_', 1) })],
    ['keys that are none', ({ keys }) => ({ keys: { ...keys, sign: { ...keys.sign, x: 'AA' } } })],
  ]
  for (const [what, change] of reveals)
    it(`${what} than were committed to: refused, and the attempt is over`, async (t) => {
      const { server, old, fresh, account, newcomer } = await twoLaptops(t)
      const deceived = old.restart({
        account: relaying((read) =>
          read.reveal === null
            ? read
            : { ...read, reveal: { ...read.reveal, ...change(read.reveal) } },
        ),
      })
      await assert.rejects(
        shownBy(deceived, fresh.flow),
        refusedWith('backend_error', /nothing was approved[^]*may be dishonest/),
      )
      await assert.rejects(
        deceived.approver.advance(deceived.account, newcomer.id),
        refusedWith('invalid_state', /./, 'no_attempt'),
      )
      assert.equal(server.logOf(account).seq, 0)
    })

  it('a device of the server, which commits and answers by itself: the words differ', async (t) => {
    const { server, old, fresh, account, newcomer } = await twoLaptops(t)
    const nonce = new Uint8Array(randomBytes(32))
    const own = { account, device: newcomer.id, nonce, keys: hashedKeys(evil) }
    const commitment = encodeBase64url(commitmentTo(own))
    const reveal = { account, device: newcomer.id, keys: evil, nonce: encodeBase64url(nonce) }
    const relayed: Partial<Read> = { commitment }
    let answered: { nonce: string; seq: number; head: string } | null = null
    const deceived = old.restart({
      account: (honest) => ({
        ...honest,
        pendingDevices: {
          read: async (input) => ({ ...(await honest.pendingDevices.read(input)), ...relayed }),
          answer: async ({ body }) => {
            answered = body.answer
            Object.assign(relayed, { answered_by: deceived.identity().device, reveal })
          },
        },
      }),
    })
    const lied = fresh.restart({
      account: (honest) => ({
        ...honest,
        approval: {
          ...honest.approval,
          // The true answer, so that all but the keys and nonces is alike.
          read: async () => ({ ...(await honest.approval.read({})), answer: answered }),
          reveal: async () => undefined,
        },
      }),
    })
    await lied.flow.beginApproval()
    await deceived.approver.begin(deceived.account, newcomer.id)
    const { device_words } = await lied.flow.advanceApproval()
    const { state } = await deceived.approver.advance(deceived.account, newcomer.id)
    assert.equal(state, 'ready')
    await assert.rejects(
      deceived.approver.approve(deceived.account, newcomer.id, device_words ?? ''),
      refusedWith('validation_failed', /nothing was signed[^]*may be dishonest/),
    )
    assert.equal(server.logOf(account).seq, 0)
  })

  it('a log in which it is revoked, since the server reset it: its nonce does not leave', async (t) => {
    const { server, old, fresh, account, newcomer } = await twoLaptops(t)
    const [own, by] = [newDeviceKeys(), newId('dev_', 1)]
    const before = server.logOf(account)
    const reset = resetLog({ log: before, device: by, keys: own, at: 1 })
    const deceived = old.restart({ account: showing(() => [...before.entries, reset]) })
    await fresh.flow.beginApproval()
    await assert.rejects(
      deceived.approver.begin(deceived.account, newcomer.id),
      refusedWith('not_signed_in', /revoked/),
    )
    assert.deepEqual(old.state.approvalAttempts.after('approving', 0), [])
    assert.equal(old.state.logs.head('keylog', account)?.seq, before.seq)
    assert.equal((await fresh.flow.advanceApproval()).device_words, null)
  })

  it('an older log than it knows: refused', async (t) => {
    const { server, old, fresh, account } = await twoLaptops(t)
    const before = [...(server.logs.get(account) ?? [])]
    await approved(old, fresh.flow)
    const phone = newLaptop(t, server, 'phone')
    await phone.signIn()
    const deceived = old.restart({ account: showing(() => before) })
    await assert.rejects(
      shownBy(deceived, phone.flow),
      refusedWith('backend_error', /\(rollback\)[^]*dishonest/),
    )
  })

  it('a device again that was revoked: its id is in the log, so no nonce leaves', async (t) => {
    const { server, old, fresh, account, newcomer } = await twoLaptops(t)
    await approved(old, fresh.flow)
    await fresh.flow.end({ last_device: false, forget: false })
    const deceived = old.restart({
      account: (honest) => ({
        ...honest,
        pendingDevices: {
          ...honest.pendingDevices,
          read: async ({ id }) => {
            const nothing = { answered_by: null, reveal: null }
            return { id, name: 'x', platform: 'linux', commitment: 'A'.repeat(43), ...nothing }
          },
        },
      }),
    })
    await assert.rejects(
      deceived.approver.begin(deceived.account, newcomer.id),
      refusedWith('conflict', /revoked/),
    )
    assert.equal(old.state.approvalAttempts.after('approving', 0).length, 1)
    assert.equal(server.logOf(account).seq, 2)
  })
})

describe('what the new device is shown', () => {
  it('binds to the first answer: another one after it changes nothing', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const answers: { nonce: string; seq: number; head: string }[] = []
    const lied = fresh.restart({
      account: (honest) => ({
        ...honest,
        approval: {
          ...honest.approval,
          read: async () => {
            const read = await honest.approval.read({})
            if (read.answer === null) return read
            answers.push(read.answer)
            const other = encodeBase64url(new Uint8Array(randomBytes(32)))
            return answers.length === 1
              ? read
              : { ...read, answer: { ...read.answer, nonce: other } }
          },
          reveal: async (input) => {
            await honest.approval.reveal(input)
            if (answers.length === 1) throw new Error('lost')
          },
        },
      }),
    })
    const { device_id: id } = await lied.flow.beginApproval()
    await old.approver.begin(old.account, id ?? '')
    await assert.rejects(lied.flow.advanceApproval(), /lost/)
    const { device_words } = await lied.flow.advanceApproval()
    await old.approver.advance(old.account, id ?? '')
    const { words } = await old.approver.approve(old.account, id ?? '', device_words ?? '')
    assert.equal((await lied.flow.approve(words)).state, 'signed_in')
    assert.equal(answers.length, 2)
    assert.equal(fresh.state.approvalAttempts.after('new', 0).length, 1)
  })

  it('an answer of the server, for a log of its own: the words of the other screen differ', async (t) => {
    const { old, fresh, account } = await twoLaptops(t)
    const own = addFirst({ account, device: newId('dev_', 1), keys: newDeviceKeys(), at: 1 })
    const { head } = verifyKeyLog(account, [own])
    const lied = fresh.restart({
      account: (honest) => ({
        ...honest,
        approval: {
          ...honest.approval,
          read: async () => {
            const read = await honest.approval.read({})
            const of = { head: encodeBase64url(head) }
            return read.answer === null ? read : { ...read, answer: { ...read.answer, ...of } }
          },
        },
      }),
    })
    await assert.rejects(added(old, lied.flow), refusedWith('validation_failed', /not yours/))
    await isWaiting(lied)
  })

  type Shown = Awaited<ReturnType<typeof twoLaptops>>
  const next = (log: KeyLog, entry: string) => verifyKeyLog(log.account, [...log.entries, entry])
  /** Logs that the keys of the account could make, and what the new device says of each. */
  const logs: [
    reason: string,
    make: (of: Shown) => Promise<readonly string[]> | readonly string[],
    code: AppError['code'],
    says: RegExp,
  ][] = [
    [
      'not in it',
      ({ server, account }) => server.logOf(account).entries.slice(0, 1),
      'invalid_state',
      /Not approved yet/,
    ],
    [
      'in it with other keys',
      ({ server, account, newcomer, by }) => {
        const log = verifyKeyLog(account, server.logOf(account).entries.slice(0, 1))
        const keys = { ...newcomer.keys, seal: publicKeys(newDeviceKeys()).seal }
        return next(log, addDevice({ log, device: { ...newcomer, keys }, ...by })).entries
      },
      'backend_error',
      /own_keys_differ/,
    ],
    [
      'added in a generation after the one that was promised',
      ({ server, account, newcomer }) => {
        const log = verifyKeyLog(account, server.logOf(account).entries.slice(0, 1))
        const [own, device] = [newDeviceKeys(), newId('dev_', 1)]
        const reset = next(log, resetLog({ log, device, keys: own, at: 1 }))
        const by = { by: device, kid: thumbprint(own.sign.jwk), seed: own.sign.secret, at: 1 }
        return next(reset, addDevice({ log: reset, device: newcomer, ...by })).entries
      },
      'backend_error',
      /generation_changed/,
    ],
    [
      'revoked in it',
      ({ server, account, newcomer, by }) => {
        const log = server.logOf(account)
        return next(log, revokeDevice({ log, device: newcomer.id, ...by })).entries
      },
      'invalid_state',
      /was revoked/,
    ],
    [
      'a log without the entry that was promised',
      ({ account, newcomer }) => {
        const [own, device] = [newDeviceKeys(), newId('dev_', 1)]
        const log = verifyKeyLog(account, [addFirst({ account, device, keys: own, at: 1 })])
        const by = { by: device, kid: thumbprint(own.sign.jwk), seed: own.sign.secret, at: 1 }
        return next(log, addDevice({ log, device: newcomer, ...by })).entries
      },
      'backend_error',
      /\(fork\)/,
    ],
  ]
  for (const [what, make, code, says] of logs)
    it(`${what}: nothing is kept or posted, and the true log is taken after it`, async (t) => {
      const of = await twoLaptops(t)
      const posted: unknown[] = []
      let shown: readonly string[] | null = null
      const lied = of.fresh.restart({
        account: (honest) => ({
          ...honest,
          keyLogs: {
            ...honest.keyLogs,
            read: async (input) =>
              shown === null ? honest.keyLogs.read(input) : { entries: [...shown] },
          },
          approval: {
            ...honest.approval,
            create: async (input) => {
              posted.push(input)
              return honest.approval.create(input)
            },
          },
        }),
      })
      const words = await added(of.old, lied.flow)
      shown = await make(of)
      await assert.rejects(lied.flow.approve(words), refusedWith(code, says))
      assert.deepEqual(posted, [])
      await isWaiting(lied)
      shown = null
      assert.equal((await lied.flow.approve(words)).state, 'signed_in')
    })

  it('an entry of its own that came before the promised one: refused', async (t) => {
    const { server, old, fresh, account, newcomer } = await twoLaptops(t)
    await added(old, fresh.flow)
    const log = server.logOf(account)
    const own = { device: newcomer.id, keys: newcomer.keys }
    assert.equal(checkOwnEntry(log, own, 0).addedAt, 1)
    assert.throws(() => checkOwnEntry(log, own, 1), { reason: 'added_before' })
  })

  it('that it is approved, by the answer to its enrolment: not believed', async (t) => {
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
})

/**
 * Tests a dishonest account server against the approving device: devices of its own, and other
 * logs.
 * Nothing is signed.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { commitmentTo } from '../../../src/crypto/device-approval.ts'
import { rawKeys } from '../../../src/crypto/device-public-keys.ts'
import { publicKeys } from '../../../src/crypto/device-keys.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { resetLog } from '../../../src/crypto/logs/key-log-entries.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { approved, shownBy } from '../../world/approving.ts'
import { newLaptop } from '../session/signing-in.ts'
import { twoLaptops } from '../waiting-laptop.ts'
import { paged } from '../../world/paged.ts'
import { rejects } from '../../rejects.ts'
import { both, instead } from '../../world/interceptor.ts'

type Read = Awaited<ReturnType<Account['pendingDevices']['read']>>

/** Changes what the server relays from the new device. */
const relaying = (change: (read: Read) => Read) =>
  instead('pendingDevices', 'read', (honest) => async (input) => change(await honest(input)))

/** Shows another key log. */
const showing = (entries: () => readonly string[]) =>
  instead('keyLogs', 'read', () => async (of) => ({ ...paged(entries(), of), seal_keys: [] }))

describe('the approving device', () => {
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
    ['malformed keys', ({ keys }) => ({ keys: { ...keys, sign: { ...keys.sign, x: 'AA' } } })],
  ]
  for (const [what, change] of reveals)
    it(`receives ${what}, unlike the commitment: rejects that and ends the attempt`, async (t) => {
      const { server, old, fresh, account, newcomer } = await twoLaptops(t)
      const deceived = old.restart({
        account: relaying((read) =>
          read.reveal === null
            ? read
            : { ...read, reveal: { ...read.reveal, ...change(read.reveal) } },
        ),
      })
      await rejects('backend_error', shownBy(deceived, fresh.flow), {
        says: /Nothing was approved[^]*may be dishonest/,
      })
      await rejects('invalid_state', deceived.approver.advance(deceived.account, newcomer.id), {
        state: 'no_attempt',
      })
      assert.equal(server.logOf(account).seq, 0)
    })

  it('faces a device of the server, which commits and answers by itself: the words differ', async (t) => {
    const { server, old, fresh, account, newcomer } = await twoLaptops(t)
    const nonce = new Uint8Array(randomBytes(32))
    const own = { account, device: newcomer.id, nonce, keys: rawKeys(evil) }
    const commitment = encodeBase64url(commitmentTo(own))
    const reveal = { account, device: newcomer.id, keys: evil, nonce: encodeBase64url(nonce) }
    const relayed: Partial<Read> = { commitment }
    let answered: { nonce: string; seq: number; head: string } | null = null
    const deceived = old.restart({
      account: both(
        relaying((read) => ({ ...read, ...relayed })),
        instead('pendingDevices', 'answer', () => async ({ body }) => {
          answered = body.answer
          Object.assign(relayed, { answered_by: deceived.identity().device, reveal })
        }),
      ),
    })
    const lied = fresh.restart({
      account: both(
        // The true answer, so that only the keys and nonces differ.
        instead('approval', 'read', (honest) => async () => ({
          ...(await honest({})),
          answer: answered,
        })),
        instead('approval', 'reveal', () => async () => undefined),
      ),
    })
    await lied.flow.beginApproval()
    await deceived.approver.begin(deceived.account, newcomer.id)
    const { device_words } = await lied.flow.advanceApproval()
    const { state } = await deceived.approver.advance(deceived.account, newcomer.id)
    assert.equal(state, 'ready')
    await rejects(
      'validation_failed',
      deceived.approver.approve(deceived.account, newcomer.id, device_words ?? ''),
      { says: /Nothing was signed[^]*may be dishonest/ },
    )
    assert.equal(server.logOf(account).seq, 0)
  })

  it('receives a log in which it is revoked by a reset of the server: does not send its nonce', async (t) => {
    const { server, old, fresh, account, newcomer } = await twoLaptops(t)
    const [own, by] = [newDeviceKeys(), newId('dev_', 1)]
    const before = server.logOf(account)
    const reset = resetLog({ log: before, device: by, keys: own, at: 1 })
    const deceived = old.restart({ account: showing(() => [...before.entries, reset]) })
    await fresh.flow.beginApproval()
    await rejects('not_signed_in', deceived.approver.begin(deceived.account, newcomer.id), {
      says: /revoked/,
    })
    assert.deepEqual(old.state.approvalAttempts.after('approving', 0), [])
    assert.equal(old.state.logs.head('keylog', account)?.seq, before.seq)
    assert.equal((await fresh.flow.advanceApproval()).device_words, null)
  })

  it('receives an older log than its cached one: rejects it', async (t) => {
    const { server, old, fresh, account } = await twoLaptops(t)
    const before = server.entries(account)
    await approved(old, fresh.flow)
    const phone = newLaptop(t, server, 'phone')
    await phone.signIn()
    const deceived = old.restart({ account: showing(() => before) })
    await rejects('backend_error', shownBy(deceived, phone.flow), {
      says: /\(rollback\)[^]*dishonest/,
    })
  })

  it('is asked to approve a revoked device again: its id is in the log, so no nonce is sent', async (t) => {
    const { server, old, fresh, account, newcomer } = await twoLaptops(t)
    await approved(old, fresh.flow)
    await fresh.flow.end({ last_device: false, forget: false })
    const deceived = old.restart({
      account: instead('pendingDevices', 'read', () => async ({ id }) => {
        const nothing = { answered_by: null, reveal: null }
        return { id, name: 'x', platform: 'linux', commitment: 'A'.repeat(43), ...nothing }
      }),
    })
    await rejects('conflict', deceived.approver.begin(deceived.account, newcomer.id), {
      says: /revoked/,
    })
    assert.equal(old.state.approvalAttempts.after('approving', 0).length, 1)
    assert.equal(server.logOf(account).seq, 2)
  })
})

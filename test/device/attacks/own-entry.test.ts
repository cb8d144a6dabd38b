/**
 * Tests a dishonest account server against a new device: answers of its own, and other logs.
 * The device stores no log and posts no check.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { publicKeys } from '../../../src/crypto/device-keys.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../../src/crypto/jose/jwk.ts'
import { type KeyLog, verifyKeyLog, checkOwnEntry } from '../../../src/crypto/logs/key-log.ts'
import { addDevice, resetLog, revokeDevice } from '../../../src/crypto/logs/key-log-entries.ts'
import type { AppError } from '../../../src/errors.ts'
import { logEntry, newDevice } from '../../crypto/builders.ts'
import { firstOf, newDeviceKeys } from '../../crypto/keys.ts'
import { added } from '../../world/approving.ts'
import { newWorld } from '../../world/world.ts'
import { newLaptop } from '../session/signing-in.ts'
import { isWaiting, twoLaptops } from '../waiting-laptop.ts'
import { paged } from '../../world/paged.ts'
import { rejects } from '../../rejects.ts'
import { both, instead, insteadAtDoor } from '../../world/interceptor.ts'

describe('the new device', () => {
  it('binds itself to the first answer: a later answer changes nothing', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const answers: { nonce: string; seq: number; head: string }[] = []
    const lied = fresh.restart({
      account: both(
        instead('approval', 'read', (honest) => async () => {
          const read = await honest({})
          if (read.answer === null) return read
          answers.push(read.answer)
          const other = encodeBase64url(new Uint8Array(randomBytes(32)))
          return answers.length === 1 ? read : { ...read, answer: { ...read.answer, nonce: other } }
        }),
        instead('approval', 'reveal', (honest) => async (input) => {
          await honest(input)
          if (answers.length === 1) throw new Error('lost')
        }),
      ),
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

  it('answered by the server, for a log of its own: the words of the two screens differ', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const own = firstOf(newId('dev_', 1), newDeviceKeys())
    const { head } = verifyKeyLog(own.account, [own.entry])
    const lied = fresh.restart({
      account: instead('approval', 'read', (honest) => async () => {
        const read = await honest({})
        const of = { head: encodeBase64url(head) }
        return read.answer === null ? read : { ...read, answer: { ...read.answer, ...of } }
      }),
    })
    await rejects('validation_failed', added(old, lied.flow), { says: /not yours/ })
    await isWaiting(lied)
  })

  type Shown = Awaited<ReturnType<typeof twoLaptops>>
  const next = (log: KeyLog, entry: string) => verifyKeyLog(log.account, [...log.entries, entry])
  /**
   * Logs that the keys of the account could make, and the new device’s reason for refusing each.
   */
  const logs: [
    reason: string,
    make: (of: Shown) => Promise<readonly string[]> | readonly string[],
    code: AppError['code'],
    says: RegExp,
    state?: string,
  ][] = [
    [
      'the device is not in the log',
      ({ server, account }) => server.logOf(account).entries.slice(0, 1),
      'invalid_state',
      /Not approved yet/,
      'awaiting_approval',
    ],
    [
      'the device is in the log with other keys',
      ({ server, account, newcomer, by }) => {
        const log = verifyKeyLog(account, server.logOf(account).entries.slice(0, 1))
        const keys = { ...newcomer.keys, seal: publicKeys(newDeviceKeys()).seal }
        return next(log, addDevice({ log, device: { ...newcomer, keys }, ...by })).entries
      },
      'backend_error',
      /own_keys_differ/,
    ],
    [
      'the device was added in a later generation than the promised one',
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
      'the device is revoked in the log',
      ({ server, account, newcomer, by }) => {
        const log = server.logOf(account)
        return next(log, revokeDevice({ log, device: newcomer.id, ...by })).entries
      },
      'invalid_state',
      /was revoked/,
      'revoked',
    ],
    [
      'the log lacks the promised entry',
      ({ account, newcomer }) => {
        const other = newDevice()
        const first = logEntry(account, [], 'add', other, other)
        const add = { device: newcomer.id, keys: newcomer.keys }
        return [first, logEntry(account, [first], 'add', other, other, add)]
      },
      'backend_error',
      /account_mismatch/,
    ],
  ]
  for (const [what, make, code, says, state] of logs)
    it(`${what}: the device stores and posts nothing, and accepts the true log later`, async (t) => {
      const of = await twoLaptops(t)
      const posted: unknown[] = []
      let shown: readonly string[] | null = null
      const lied = of.fresh.restart({
        account: both(
          instead(
            'keyLogs',
            'read',
            (honest) => async (input) =>
              shown === null ? honest(input) : { ...paged(shown, input), seal_keys: [] },
          ),
          instead('approval', 'create', (honest) => (input) => {
            posted.push(input)
            return honest(input)
          }),
        ),
      })
      const words = await added(of.old, lied.flow)
      shown = await make(of)
      await rejects(code, lied.flow.approve(words), { says, state })
      assert.deepEqual(posted, [])
      await isWaiting(lied)
      shown = null
      assert.equal((await lied.flow.approve(words)).state, 'signed_in')
    })

  it('rejects an entry of its own from before the promised one', async (t) => {
    const { server, old, fresh, account, newcomer } = await twoLaptops(t)
    await added(old, fresh.flow)
    const log = server.logOf(account)
    const own = { device: newcomer.id, keys: newcomer.keys }
    assert.equal(checkOwnEntry(log, own, 0).addedAt, 1)
    assert.throws(() => checkOwnEntry(log, own, 1), { reason: 'added_before' })
  })

  it('does not trust an answer to its enrolment that it is approved', async (t) => {
    const server = await newWorld(t)
    const old = newLaptop(t, server, 'desk')
    await old.signIn()
    const door = insteadAtDoor('enrolment', 'further', (honest) => async (input) => ({
      ...(await honest(input)),
      approved: true,
    }))
    const fresh = newLaptop(t, server, 'laptop 2', { door })
    assert.equal((await fresh.signIn()).state, 'awaiting_approval')
    await isWaiting(fresh)
  })
})

/**
 * Approvals of further devices: the messages that the server relays, and when it admits the new
 * device. On every server.
 */
import { before, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import {
  additionBy,
  approve,
  enrol,
  enrolByMail,
  join,
  logOf,
  mailedCode,
  newAddress,
  type Newcomer,
} from '../service/person.ts'
import { MINUTE, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

const filled = (of: string) => Buffer.alloc(32, of).toString('base64url')
const answerTo = (id: string, of = 'o') => ({
  id,
  body: { commitment: filled('c'), answer: { nonce: filled(of), seq: 0, head: filled('h') } },
})
const revealOf = ({ keys, device }: Newcomer, account: string, of = 'n') => ({
  commitment: filled('c'),
  reveal: { account, device, keys: publicKeys(keys), nonce: filled(of) },
})

export function approvalsSuite(accounts: () => Accounts): void {
  let { server, later } = {} as Accounts
  before(() => {
    ;({ server, later } = accounts())
  })

  describe('approvals', () => {
    /** Enrols a person with a mailbox, and a second device that awaits approval. */
    async function withNewcomer() {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const laptop = await join(server, await mailedCode(server, email))
      return { email, ada, laptop }
    }

    test('the relay passes on one commitment, one answer and one reveal', async () => {
      const { ada, laptop } = await withNewcomer()
      const eve = await enrol(server)
      const { approval } = laptop.account
      const { pendingDevices } = ada.account
      const [id, other] = [laptop.device, filled('d')]
      const commit = (commitment: string) => approval.begin({ body: { commitment } })
      const reveal = (of = 'n') => approval.reveal({ body: revealOf(laptop, ada.id, of) })
      const seen = async () => {
        const { commitment, answered_by, reveal: shown } = await pendingDevices.read({ id })
        return [commitment, answered_by, shown?.nonce ?? null]
      }
      assert.deepEqual(await approval.read({}), { commitment: null, answer: null })
      await rejects('conflict', pendingDevices.answer(answerTo(id)))
      await rejects('conflict', reveal())
      await commit(other)
      await rejects('conflict', pendingDevices.answer(answerTo(id)))
      await commit(filled('c'))
      assert.deepEqual(await seen(), [filled('c'), null, null])
      await rejects('conflict', reveal())
      await rejects('not_found', eve.account.pendingDevices.read({ id }))
      await rejects('not_found', eve.account.pendingDevices.answer(answerTo(id)))
      // A client that lost the response repeats the request.
      for (let times = 0; times < 2; times++) await pendingDevices.answer(answerTo(id))
      await rejects('conflict', pendingDevices.answer(answerTo(id, 'p')))
      await commit(filled('c'))
      const { answer } = answerTo(id).body
      assert.deepEqual(await approval.read({}), { commitment: filled('c'), answer })
      for (let times = 0; times < 2; times++) await reveal()
      await rejects('conflict', reveal('m'))
      assert.deepEqual(await seen(), [filled('c'), ada.device, filled('n')])
      // Started again.
      await commit(other)
      assert.deepEqual(await seen(), [other, null, null])
    })

    test('an attempt ends after 15 minutes; only the answering device gets the revealed values', async () => {
      const { email, ada, laptop } = await withNewcomer()
      const third = await join(server, await mailedCode(server, email))
      await approve(ada, third)
      const { approval } = laptop.account
      const id = laptop.device
      await approval.begin({ body: { commitment: filled('c') } })
      await ada.account.pendingDevices.answer(answerTo(id))
      await approval.reveal({ body: revealOf(laptop, ada.id) })
      const theirs = await third.account.pendingDevices.read({ id })
      assert.deepEqual([theirs.answered_by, theirs.reveal], [ada.device, null])
      later(15 * MINUTE - 1)
      assert.notEqual((await ada.account.pendingDevices.read({ id })).reveal, null)
      later(1)
      assert.equal((await ada.account.pendingDevices.read({ id })).commitment, null)
      assert.deepEqual(await approval.read({}), { commitment: null, answer: null })
      await rejects('conflict', approval.reveal({ body: revealOf(laptop, ada.id) }))
    })

    test('an approved device cannot begin an attempt', async () => {
      const { ada, laptop } = await withNewcomer()
      await approve(ada, laptop)
      for (const { account } of [ada, laptop])
        await rejects(
          'invalid_state',
          account.approval.begin({ body: { commitment: filled('c') } }),
          { state: 'active' },
        )
    })

    test('a new device has to confirm a log entry that includes the device', async () => {
      const { ada, laptop } = await withNewcomer()
      const confirm = async (head: Uint8Array) =>
        laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
      const before = (await logOf(ada)).head
      await rejects('invalid_state', confirm(before), { state: 'pending' })
      await ada.account.keyLogs.append({ body: { entry: await additionBy(ada, laptop) } })
      await rejects('conflict', confirm(new Uint8Array(32)))
      await confirm((await logOf(ada)).head)
    })
  })
}

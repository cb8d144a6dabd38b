/** Stamps of an account. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { verifyStamp } from '../../src/crypto/stamp.ts'
import { enrol, stampOf, tampered } from '../service/person.ts'
import { MINUTE, isInvalid, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function stampsSuite(accounts: () => Accounts): void {
  let { subject, server, later } = {} as Accounts
  before(() => {
    ;({ subject, server, later } = accounts())
  })

  describe('stamps', () => {
    test('a receipt verifies with the pinned key, and is the same when repeated', async () => {
      const ada = await enrol(server)
      const { jti, stamp } = stampOf(ada)
      const { receipt } = await ada.account.stamps.create({ body: { stamp } })
      const serverKey = ada.enrolment.receipt_key
      const facts = verifyStamp({ stamp, key_log: [ada.entry], receipt }, { serverKey })
      assert.deepEqual(
        { ...facts.receipt, stamp_sha256: '' },
        {
          v: 2,
          jti,
          stamp_sha256: '',
          received_at: Math.floor(subject.clock.ms / 1000),
          key_status: 'active',
          assurance: 'device',
        },
      )
      later(MINUTE)
      assert.deepEqual(await ada.account.stamps.create({ body: { stamp } }), { receipt })
    })

    test('any account reads a stamp with what verifies it, by its id', async () => {
      const [ada, eve] = [await enrol(server), await enrol(server)]
      const { jti, stamp } = stampOf(ada)
      const { receipt } = await ada.account.stamps.create({ body: { stamp } })
      const served = await eve.account.servedStamps.read({ id: jti })
      assert.deepEqual(
        [served.stamp, served.receipt, served.key_log, served.receipt_key],
        [stamp, receipt, [ada.entry], ada.enrolment.receipt_key],
      )
      for (const id of [stampOf(ada).jti, 'x'])
        await rejects('not_found', eve.account.servedStamps.read({ id }))
    })

    test('another stamp with the id is rejected', async () => {
      const ada = await enrol(server)
      const { jti, stamp } = stampOf(ada)
      await ada.account.stamps.create({ body: { stamp } })
      const other = stampOf(ada, { jti, ctx: 'another' })
      await rejects('conflict', ada.account.stamps.create({ body: { stamp: other.stamp } }))
    })

    test('stamps that would not verify are rejected', async () => {
      const [ada, eve] = [await enrol(server), await enrol(server)]
      const { stamp } = stampOf(ada)
      const cases: [string, string][] = [
        ['bad_signature', tampered(stamp)],
        ['wrong_account', stampOf(eve).stamp],
        ['key_log_mismatch', stampOf(eve, { iss: ada.id }).stamp],
        ['unknown_signer', stampOf(ada, { dev: eve.device }).stamp],
        ['wrong_typ', ada.entry],
        ['assurance_claimed', stampOf(ada, { assurance: 'organisation' }).stamp],
      ]
      for (const [reason, bad] of cases)
        await isInvalid('stamp', reason, ada.account.stamps.create({ body: { stamp: bad } }))
    })
  })
}

/**
 * The envelopes that an account server stores for the devices of a connection. For every engine.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { readEnvelope } from '../../../src/crypto/envelope-form.ts'
import { signerAt } from '../../../src/crypto/logs/key-log-ops.ts'
import { verifyKeyLog } from '../../../src/crypto/logs/key-log.ts'
import { envelopeFor, knownBy, make, joinMember } from './connecting.ts'
import {
  connect,
  enrol,
  enrolByMail,
  logOf,
  newAddress,
  renewSealing,
  revocationBy,
  type Person,
} from '../person.ts'
import {
  envelopesOf,
  headOf,
  isInvalid,
  read,
  tooLate,
  unsealed,
  type Rosters,
} from './rosters-subject.ts'

export function rosterEnvelopesSuite(rosters: () => Rosters): void {
  let { server, stored, laptopOf } = {} as Rosters
  before(() => {
    ;({ server, stored, laptopOf } = rosters())
  })

  describe('envelopes', () => {
    /** Connects Ada and Bob, who has a second device without an envelope. */
    async function further({ isApproved = true } = {}) {
      const email = newAddress()
      const ada = await enrol(server, 'Ada')
      const bob = await enrolByMail(server, email, 'Bob')
      const { id } = await connect(ada)
      await joinMember(ada, id, bob)
      const laptop = await laptopOf(bob, email, { isApproved })
      return { id, ada, bob, email, laptop }
    }

    test('a device without an envelope is listed to all members until it gets one', async () => {
      const { id, ada, bob, laptop } = await further()
      assert.deepEqual(await unsealed(ada, id), [laptop.device])
      assert.deepEqual(await unsealed(bob, id), [laptop.device])
      assert.deepEqual(await envelopesOf(laptop, id), [])
      const known = await knownBy(ada, id)
      const to = signerAt(known.keyLogs.get(bob.id)!, laptop.device, 1)
      const envelope = await envelopeFor(known.roster, to)
      const seen = {
        ada: (await read(ada, id)).updated_at,
        bob: (await read(bob, id)).updated_at,
      }
      const add = (by: Person, envelopes: string[]) =>
        by.account.envelopes.add({ connection: id, body: { envelopes } })
      assert.deepEqual(await add(ada, [envelope]), { stored: 1 })
      assert.deepEqual(await envelopesOf(laptop, id), [envelope])
      assert.equal(await unsealed(ada, id), undefined)
      // The connection is updated for the account of the envelope alone, which has to fetch it.
      assert.ok((await read(bob, id)).updated_at > seen.bob)
      assert.equal((await read(ada, id)).updated_at, seen.ada)
      // The first envelope stays.
      const another = await envelopeFor(known.roster, to)
      assert.deepEqual(await add(bob, [another]), { stored: 0 })
      assert.deepEqual(await add(ada, [envelope]), { stored: 0 })
      assert.deepEqual(await envelopesOf(laptop, id), [envelope])
      // The next epoch brings a valid envelope, also if the first was not.
      await make(bob, id, { op: 'rotate' })
      assert.equal(readEnvelope((await envelopesOf(laptop, id))[0]!).epoch, 2)
    })

    test('the server stores none for a device that has not posted its check of the key log', async () => {
      const { id, ada, bob, laptop } = await further({ isApproved: false })
      assert.equal(await unsealed(ada, id), undefined)
      // The key log names the device, so other devices seal to it: they cannot see that it has
      // not posted its check.
      await make(ada, id, { op: 'rotate' })
      const { roster, keyLogs } = await knownBy(ada, id)
      const to = signerAt(keyLogs.get(bob.id)!, laptop.device, 1)
      const envelopes = [await envelopeFor(roster, to)]
      const body = { connection: id, body: { envelopes } }
      assert.deepEqual(await ada.account.envelopes.add(body), { stored: 0 })
      assert.deepEqual(await envelopesOf(laptop, id), [])
      const { head } = await logOf(bob)
      await laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
      assert.deepEqual(await envelopesOf(laptop, id), [])
      assert.deepEqual(await unsealed(ada, id), [laptop.device])
      assert.deepEqual(await ada.account.envelopes.add(body), { stored: 1 })
      assert.deepEqual(await envelopesOf(laptop, id), envelopes)
    })

    test('an envelope for another epoch or for a stranger is rejected', async () => {
      const { id, ada, bob, laptop } = await further()
      const eve = await enrol(server)
      const known = await knownBy(ada, id)
      const { roster, keyLogs } = known
      const to = signerAt(keyLogs.get(bob.id)!, laptop.device, 1)
      const strange = signerAt(verifyKeyLog(eve.id, [eve.entry]), eve.device, 0)
      const good = await envelopeFor(roster, to)
      const elsewhere = (await connect(ada)).id
      const changed = (members: object) => JSON.stringify({ ...JSON.parse(good), ...members })
      const short = (bytes: number) => encodeBase64url(new Uint8Array(bytes - 1))
      const cases: [what: string, envelopes: string[], reason: string][] = [
        ['for a stranger', [good, await envelopeFor(roster, strange)], 'wrong_recipient'],
        ['a later epoch', [await envelopeFor(roster, to, { epoch: 2 })], 'unknown_epoch'],
        ['no envelope', ['{}'], 'missing_member'],
        ['no JSON', [good.slice(1)], 'bad_json'],
        ['a list', ['[]'], 'bad_json'],
        ['version 1', [changed({ v: 1 })], 'wrong_version'],
        ['an unknown suite', [changed({ suite: 2 })], 'unknown_suite'],
        ['a suite as text', [changed({ suite: '1' })], 'bad_value'],
        ['an additional member', [changed({ more: 1 })], 'unknown_member'],
        ['another connection', [changed({ connection: elsewhere })], 'wrong_connection'],
        ['another entry', [changed({ epoch_head: short(33) })], 'wrong_epoch_head'],
        ['a short epoch_head', [changed({ epoch_head: short(32) })], 'bad_value'],
        ['a short key id', [changed({ recipient_kid: short(32) })], 'bad_value'],
        ['a short enc', [changed({ enc: short(1120) })], 'bad_value'],
        ['a long enc', [changed({ enc: short(1122) })], 'bad_value'],
        ['a short ct', [changed({ ct: short(48) })], 'bad_value'],
        ['no ct', [changed({ ct: '' })], 'bad_value'],
        ['two for one device', [good, await envelopeFor(roster, to)], 'duplicate_device'],
      ]
      const before = await stored(id)
      const add = (envelopes: string[]) =>
        ada.account.envelopes.add({ connection: id, body: { envelopes } })
      for (const [what, envelopes, reason] of cases)
        await isInvalid('envelopes', reason, add(envelopes), what)
      await isInvalid('envelopes', '', add([]), 'none')
      assert.deepEqual(await stored(id), before)
      // The envelopes were valid for the epoch before this rotation.
      await make(bob, id, { op: 'rotate' })
      const { entries } = await ada.account.rosters.read({ connection: id })
      await tooLate(add([good]), headOf(entries.at(-1)!))
    })

    test('an envelope to a replaced key is rejected, one to the newest key is stored', async () => {
      const { id, ada, bob, laptop } = await further()
      const old = await knownBy(ada, id)
      const late = await envelopeFor(
        old.roster,
        signerAt(old.keyLogs.get(bob.id)!, laptop.device, 1),
      )
      await renewSealing(laptop)
      const { entries } = await ada.account.rosters.read({ connection: id })
      const add = (envelopes: string[]) =>
        ada.account.envelopes.add({ connection: id, body: { envelopes } })
      await tooLate(add([late]), headOf(entries.at(-1)!))
      assert.deepEqual(await envelopesOf(laptop, id), [])
      const { roster, keyLogs } = await knownBy(ada, id)
      const good = await envelopeFor(roster, signerAt(keyLogs.get(bob.id)!, laptop.device, 2))
      assert.deepEqual(await add([good]), { stored: 1 })
      assert.deepEqual(await envelopesOf(laptop, id), [good])
    })

    test('a device that deleted its envelope is listed again, and any member can seal another', async () => {
      const { id, ada, bob, laptop } = await further()
      const { roster, keyLogs } = await knownBy(ada, id)
      const to = signerAt(keyLogs.get(bob.id)!, laptop.device, 1)
      const sealed = async () => ({
        connection: id,
        body: { envelopes: [await envelopeFor(roster, to)] },
      })
      await ada.account.envelopes.add(await sealed())
      assert.equal(await unsealed(ada, id), undefined)
      // A device cannot delete the envelopes of another.
      await ada.account.envelopes.delete({ connection: id, epoch: roster.epoch + 1 })
      await laptop.account.envelopes.delete({ connection: id, epoch: roster.epoch })
      assert.deepEqual(await envelopesOf(laptop, id), [])
      for (const one of [ada, bob, laptop])
        assert.deepEqual(await unsealed(one, id), [laptop.device])
      assert.deepEqual(await bob.account.envelopes.add(await sealed()), { stored: 1 })
      assert.equal((await envelopesOf(laptop, id)).length, 1)
      assert.equal(await unsealed(ada, id), undefined)
    })

    test('revoking a device deletes its envelopes and those that it sealed, so that others seal new ones', async () => {
      const { id, ada, bob, email, laptop } = await further()
      const known = await knownBy(ada, id)
      const to = signerAt(known.keyLogs.get(bob.id)!, laptop.device, 1)
      const envelopes = [await envelopeFor(known.roster, to)]
      await ada.account.envelopes.add({ connection: id, body: { envelopes } })
      const third = await laptopOf(bob, email)
      const { keyLogs, roster } = await knownBy(bob, id)
      const sealed = await envelopeFor(roster, signerAt(keyLogs.get(bob.id)!, third.device, 2))
      await laptop.account.envelopes.add({ connection: id, body: { envelopes: [sealed] } })
      assert.equal(await unsealed(ada, id), undefined)
      const entry = await revocationBy(bob, laptop.device)
      await bob.account.keyLogs.append({ body: { entry } })
      assert.deepEqual(await unsealed(ada, id), [third.device])
      assert.deepEqual(await envelopesOf(third, id), [])
    })
  })
}

/** Enrolment of an account with a code of its server. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { malformedFirstEntries } from '../crypto/malformed.ts'
import {
  enrol,
  enrolled,
  enrolmentOf,
  newMaker,
  otherFirstOf,
  sealKeyOf,
  stampOf,
  tampered,
} from '../service/person.ts'
import { MINUTE, isInvalid, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function enrolmentSuite(accounts: () => Accounts): void {
  let { server, later } = {} as Accounts
  before(() => {
    ;({ server, later } = accounts())
  })

  describe('enrolment', () => {
    test('makes the account that the entry names', async () => {
      const ada = await enrol(server, 'Ada')
      assert.equal(ada.enrolment.account_id, ada.id)
      assert.equal(ada.enrolment.device_id, ada.device)
      assert.deepEqual(await ada.account.context.read({}), {
        user: { id: ada.id, display_name: 'Ada', email: null, kind: 'person' },
        organisations: [],
      })
      const log = await ada.account.keyLogs.read({ account: ada.id })
      assert.deepEqual(log.entries, [ada.entry])
    })

    test('returns the same receipt key for all accounts of a server', async () => {
      const [a, b] = [await enrol(server), await enrol(server)]
      assert.equal(a.enrolment.receipt_key.crv, 'Ed25519')
      assert.deepEqual(a.enrolment.receipt_key, b.enrolment.receipt_key)
    })

    test('the same entry with its code again: another session of the same device', async () => {
      const maker = newMaker()
      const body = enrolmentOf(maker, await server.newEnrolmentCode())
      const one = await server.door().enrolment.create(body)
      const two = await server.door().enrolment.create(body)
      assert.equal(two.account_id, maker.id)
      assert.notEqual(two.session.session_id, one.session.session_id)
      for (const { session } of [one, two]) {
        const account = server.account({ ...session, keys: maker.keys })
        assert.equal((await account.context.read({})).user.id, maker.id)
      }
    })

    test('an existing account is opened by its own code, and not by another', async () => {
      const ada = await enrol(server)
      const free = await server.newEnrolmentCode()
      await rejects('conflict', server.door().enrolment.create(enrolmentOf(ada, free)))
      const own = await server.newEnrolmentCode(ada.id)
      const again = await server.door().enrolment.create(enrolmentOf(ada, own))
      assert.equal(again.account_id, ada.id)
      // The rejected request did not use up the free code.
      const bob = newMaker()
      const { account_id } = await server.door().enrolment.create(enrolmentOf(bob, free))
      assert.equal(account_id, bob.id)
    })

    test('another first entry, or the device in another account, is a conflict', async () => {
      const ada = await enrol(server)
      const other = { ...ada, entry: otherFirstOf(ada) }
      const own = await server.newEnrolmentCode(ada.id)
      await rejects('conflict', server.door().enrolment.create(enrolmentOf(other, own)))
      const thief = newMaker({ device: ada.device })
      const code = await server.newEnrolmentCode()
      await rejects('conflict', server.door().enrolment.create(enrolmentOf(thief, code)))
      await rejects('not_found', ada.account.keyLogs.read({ account: thief.id }))
    })

    test('a code is for one account', async () => {
      const code = await server.newEnrolmentCode()
      await server.door().enrolment.create(enrolmentOf(newMaker(), code))
      await rejects('invalid_token', server.door().enrolment.create(enrolmentOf(newMaker(), code)))
      const own = await server.newEnrolmentCode(newId('acc_', Date.now()))
      await rejects('invalid_token', server.door().enrolment.create(enrolmentOf(newMaker(), own)))
    })

    test('a code is read in all spellings that people type', async () => {
      const code = await server.newEnrolmentCode()
      assert.match(code, /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}$/)
      const typed = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`
      const { account_id } = await server.door().enrolment.create(enrolmentOf(newMaker(), typed))
      assert.match(account_id, /^acc_/)
    })

    test('a missing, a wrong and an expired code', async () => {
      const maker = newMaker()
      const expired = await server.newEnrolmentCode()
      later(15 * MINUTE)
      for (const code of ['', 'x', '\0', 'AAAA-AAAA-AAAA-AAAA', expired]) {
        await rejects('invalid_token', server.door().enrolment.create(enrolmentOf(maker, code)))
      }
    })

    test('a code stays valid after four wrong guesses, and ends after five', async () => {
      const guess = (code: string) => code.slice(0, -1) + (code.endsWith('A') ? 'B' : 'A')
      for (const [wrong, alive] of [
        [4, true],
        [5, false],
      ] as const) {
        const code = await server.newEnrolmentCode()
        const maker = newMaker()
        for (let i = 0; i < wrong; i++)
          await rejects(
            'invalid_token',
            server.door().enrolment.create(enrolmentOf(maker, guess(code))),
          )
        const right = server.door().enrolment.create(enrolmentOf(maker, code))
        if (alive) await right
        else await rejects('invalid_token', right)
      }
    })

    test('an invalid entry is rejected and does not count as a guess', async () => {
      const code = await server.newEnrolmentCode()
      const maker = newMaker()
      const { stamp } = stampOf(maker)
      const malformed = malformedFirstEntries(maker.entry, maker.keys.sign.secret)
      for (const [entry, reason] of [
        [tampered(maker.entry), 'bad_signature'],
        [stamp, 'wrong_typ'],
        ['a.b.c', 'respelt_base64|bad_json|bad_utf8'],
        ...malformed.map(([, entry, reason]) => [entry, reason]),
      ] as const)
        for (let i = 0; i < 3; i++)
          await isInvalid(
            'entry',
            reason,
            server.door().enrolment.create(enrolmentOf({ ...maker, entry }, code)),
          )
      await server.door().enrolment.create(enrolmentOf(maker, code))
    })

    test('another sealing key than in the entry is rejected and does not count as a guess', async () => {
      const maker = newMaker()
      const code = await server.newEnrolmentCode()
      const { body } = enrolmentOf(maker, code)
      const create = (seal_key: string) =>
        server.door().enrolment.create({ body: { ...body, seal_key } })
      const cases: [seal_key: string, reason: string][] = [
        [sealKeyOf(newDeviceKeys()), 'hash_mismatch'],
        [encodeBase64url(new Uint8Array(1216)), 'hash_mismatch'],
        // The same bytes, with other unused bits in the last character.
        [
          `${body.seal_key.slice(0, -1)}${{ A: 'B', Q: 'R', g: 'h', w: 'x' }[body.seal_key.at(-1)!]}`,
          'respelt_base64',
        ],
      ]
      for (let round = 0; round < 2; round++)
        for (const [seal_key, reason] of cases)
          await isInvalid('seal_key', reason, create(seal_key))
      for (const seal_key of [body.seal_key.slice(4), `${body.seal_key}AAAA`, ''])
        await isInvalid('seal_key', '', create(seal_key))
      const { account_id } = await create(body.seal_key)
      assert.equal(account_id, maker.id)
    })

    test('concurrent guesses are counted one after the other', async () => {
      const code = await server.newEnrolmentCode()
      const wrong = code.slice(0, -1) + (code.endsWith('A') ? 'B' : 'A')
      const maker = newMaker()
      const at = (text: string) => server.door().enrolment.create(enrolmentOf(maker, text))
      const all = await Promise.allSettled(Array.from({ length: 8 }, () => at(wrong)))
      assert.ok(all.every(({ status }) => status === 'rejected'))
      await rejects('invalid_token', at(code))
    })

    test('a repeated right code does not count as a guess', async () => {
      const code = await server.newEnrolmentCode()
      for (let i = 0; i < 7; i++)
        assert.deepEqual(await server.door().signIns.read({ body: { code } }), {
          account_id: null,
          key_log: [],
          key_log_seq: null,
          email: null,
        })
      await enrolled(server, newMaker(), code)
    })

    test('ten concurrent enrolments with one code: one account', async () => {
      const maker = newMaker()
      const code = await server.newEnrolmentCode()
      const all = await Promise.all(
        Array.from({ length: 10 }, () => server.door().enrolment.create(enrolmentOf(maker, code))),
      )
      assert.deepEqual(new Set(all.map(({ account_id }) => account_id)), new Set([maker.id]))
      assert.equal(new Set(all.map(({ session }) => session.session_id)).size, 10)
    })

    test('ten concurrent enrolments, each with own keys: one device', async () => {
      const code = await server.newEnrolmentCode()
      const all = await Promise.allSettled(
        Array.from({ length: 10 }, () =>
          server.door().enrolment.create(enrolmentOf(newMaker(), code)),
        ),
      )
      assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
    })

    test('needs either a code or an assertion', async () => {
      const { body } = enrolmentOf(newMaker(), await server.newEnrolmentCode())
      const { code, ...none } = body
      const both = { ...body, assertion: 'a.b.c' }
      const door = server.door()
      for (const call of [
        door.enrolment.create({ body: none }),
        door.enrolment.create({ body: both }),
        door.signIns.read({ body: {} }),
        door.signIns.read({ body: { code, assertion: 'a.b.c' } }),
      ])
        await rejects('validation_failed', call)
    })
  })
}

/**
 * Sign-in by mail: addresses, their codes, and which accounts the codes open. On every server.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { DeviceKeyPairs } from '../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { codeIn } from '../service/letters.ts'
import {
  enrol,
  enrolByMail,
  enrolled,
  join,
  mailedCode,
  newAddress,
  newcomerOf,
  newMaker,
} from '../service/person.ts'
import { MINUTE, isInvalid, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function signInSuite(accounts: () => Accounts): void {
  let { server, later } = {} as Accounts
  before(() => {
    ;({ server, later } = accounts())
  })

  describe('sign-in by mail', () => {
    test('a code makes an account with the address, or opens the existing one', async () => {
      const email = newAddress()
      const code = await mailedCode(server, email)
      const door = server.door()
      const read = (text: string) => door.signIns.read({ body: { code: text } })
      assert.deepEqual(await read(code), {
        account_id: null,
        key_log: [],
        key_log_seq: null,
        email,
      })
      const ada = await enrolled(server, newMaker(), code)
      assert.equal((await ada.account.context.read({})).user.email, email)
      const next = await mailedCode(server, email)
      for (const text of [code, next])
        assert.deepEqual(await read(text), {
          account_id: ada.id,
          key_log: [ada.entry],
          key_log_seq: 0,
          email,
        })
    })

    test('known or not: the same answer and the same mail', async () => {
      const known = newAddress()
      await enrolByMail(server, known)
      const unknown = newAddress()
      const message = []
      for (const email of [known, unknown]) {
        const reply = await server.door().signIns.create({ body: { email } })
        const letter = (await server.letters(email)).at(-1)!
        const code = codeIn(letter)
        assert.ok(!letter.subject.includes(code))
        const blank = (text: string) => text.replaceAll(email, '').replace(code, '')
        message.push([{ ...reply, email: '' }, blank(letter.subject), blank(letter.text)])
      }
      assert.deepEqual(message[0], message[1])
    })

    test('an address ignores case and is ASCII: a look-alike has another account', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email.toUpperCase())
      assert.equal((await ada.account.context.read({})).user.email, email)
      const code = await mailedCode(server, email)
      const opened = await server.door().signIns.read({ body: { code } })
      assert.equal(opened.account_id, ada.id)
      for (const other of [
        email.replace('e', '\u0435'),
        `\u212a${email}`,
        `\u017f${email}`,
        `\u200b${email}`,
        `${email}\0`,
        `${email}, eve@example.org`,
        `"${email}"`,
        `Ada <${email}>`,
        'ada',
        '@',
        '',
      ])
        await rejects('validation_failed', server.door().signIns.create({ body: { email: other } }))
    })

    test('two people with one name are two accounts', async () => {
      const [a, b] = [await enrol(server, 'Ada'), await enrol(server, 'Ada')]
      const [one, two] = [
        await b.account.profiles.read({ id: a.id }),
        await a.account.profiles.read({ id: b.id }),
      ]
      assert.deepEqual(one, {
        id: a.id,
        display_name: 'Ada',
        handle: null,
        headline: null,
        kind: 'person',
      })
      assert.deepEqual(two, { ...one, id: b.id })
    })

    test('five valid codes for an address, then a pause', async () => {
      const email = newAddress()
      const ask = () => server.door().signIns.create({ body: { email } })
      for (let i = 0; i < 5; i++) await ask()
      await rejects('rate_limited', ask(), { state: 'code_sent' })
      assert.equal((await server.letters(email)).length, 5)
      await server.door().signIns.create({ body: { email: newAddress() } })
      later(15 * MINUTE)
      await ask()
    })

    test('ten concurrent requests: five codes at most', async () => {
      const email = newAddress()
      await Promise.allSettled(
        Array.from({ length: 10 }, () => server.door().signIns.create({ body: { email } })),
      )
      assert.ok((await server.letters(email)).length <= 5)
    })

    test('a used code works for the device that used it', async () => {
      const email = newAddress()
      const code = await mailedCode(server, email)
      const maker = newMaker()
      await enrolled(server, maker, code)
      await enrolled(server, maker, code)
      await rejects('invalid_token', join(server, code))
      await rejects('invalid_token', enrolled(server, newMaker(), code))
      const second = await mailedCode(server, email)
      const laptop = newcomerOf()
      const [one, two] = [await join(server, second, laptop), await join(server, second, laptop)]
      assert.notEqual(one.enrolment.session.session_id, two.enrolment.session.session_id)
      await rejects('invalid_token', join(server, second))
      const swapped = newcomerOf(newDeviceKeys(), laptop.device)
      await rejects('conflict', join(server, second, swapped))
    })

    test('a code of an address opens no other account', async () => {
      const [ada, bob] = [newAddress(), newAddress()]
      const early = await mailedCode(server, ada)
      const [adas, bobs] = [await enrolByMail(server, ada), await enrolByMail(server, bob)]
      // Sent before or after the address had an account.
      for (const code of [early, await mailedCode(server, ada)]) {
        await rejects('invalid_token', enrolled(server, newMaker(), code))
        await rejects('invalid_token', enrolled(server, bobs, code))
        await enrolled(server, adas, code)
      }
    })

    test('two devices begin with one new address at once: one account', async () => {
      const email = newAddress()
      const codes = [await mailedCode(server, email), await mailedCode(server, email)]
      const all = await Promise.allSettled(codes.map((code) => enrolled(server, newMaker(), code)))
      assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
    })

    test('a further device needs a first one', async () => {
      await rejects('conflict', join(server, await mailedCode(server, newAddress())))
      await rejects('conflict', join(server, await server.newEnrolmentCode()))
      await rejects('invalid_token', join(server, 'AAAA-AAAA-AAAA-AAAA'))
    })

    test('a further device needs valid keys that no other device has', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const code = await mailedCode(server, email)
      const keys = newDeviceKeys()
      const cases: [string, DeviceKeyPairs][] = [
        ['duplicate_key', { ...keys, auth: keys.sign }],
        ['duplicate_key', { ...keys, seal: ada.keys.seal }],
        ['bad_value', { ...keys, sign: { ...keys.sign, jwk: { ...keys.sign.jwk, x: 'AA' } } }],
      ]
      for (const [reason, bad] of cases)
        await isInvalid('keys', reason, join(server, code, newcomerOf(bad)))
      await join(server, code)
    })
  })
}

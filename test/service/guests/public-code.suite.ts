/**
 * The public code at the account server: look-ups of the account that words belong to. They find
 * an account as long as its owner allows it. For every engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { LABEL, ZERO_HEAD, codeKey, codeReader, windowOf } from '../../../src/crypto/code.ts'
import { parseId } from '../../../src/crypto/encoding/id.ts'
import { stampIndices } from '../../../src/crypto/stamp.ts'
import {
  approve,
  enrol,
  enrolByMail,
  join,
  mailedCode,
  newAddress,
  type Newcomer,
  type Person,
  resetOf,
  revocationBy,
  stampOf,
} from '../person.ts'
import { openSubject, PUBLIC_URL, type LocalSubject, type Place } from '../subject.ts'
import type { Engine } from '../engines.ts'
import { rejects } from '../../rejects.ts'

const MINUTE = 60_000

let secrets = 0
/** Returns a secret that no other test has. */
const newSecret = () => new Uint8Array(32).fill((secrets += 1))

/** Returns the words of a public code as its owner reads them aloud. */
const wordsOf = (account: string, k: Uint8Array, window: number) => {
  const subject = parseId('acc_', account)
  const key = codeKey({ label: LABEL.public, key: k, subject, epoch: 1, head: ZERO_HEAD })
  return codeReader(key)(window, subject)
}

export function publicCodeSuite(name: string, { newPlace, replicas }: Engine): void {
  describe(`the public code: ${name}`, () => {
    let place: Place
    let subject: LocalSubject
    before(async () => {
      place = await newPlace()
      subject = await openSubject(place)
    })
    after(() => subject.close())

    const share = ({ account }: Person, k: Uint8Array) =>
      account.publicCode.create({ body: { k: encodeBase64url(k) } })
    const switchTo = ({ account }: Person, on: boolean) =>
      account.preferences.update({ body: { public_code: on } })
    async function speaker(display_name = 'Bob') {
      const bob = await enrol(subject.server, display_name)
      const k = newSecret()
      await share(bob, k)
      await switchTo(bob, true)
      return { bob, k }
    }
    const windowNow = () => windowOf(subject.clock.ms)
    const ask = ({ account }: Person, words: readonly number[]) =>
      account.lookups.create({ body: { words: [...words] } })
    /**
     * Returns the accounts found by the words of this window, for a new account without earlier
     * look-ups.
     */
    async function found(account: string, k: Uint8Array, window = windowNow()) {
      const { accounts } = await ask(await enrol(subject.server), wordsOf(account, k, window))
      return accounts.map(({ profile }) => profile.id)
    }

    test('is off until a device shared its secret and the user switched it on', async () => {
      const bob = await enrol(subject.server, 'Bob')
      const k = newSecret()
      const read = async () => (await bob.account.publicCode.read({})).k
      await rejects('invalid_state', switchTo(bob, true), { state: 'not_shared' })
      assert.equal((await bob.account.preferences.read({})).public_code, false)
      await share(bob, k)
      assert.deepEqual([await read(), await found(bob.id, k)], [null, []])
      assert.equal((await switchTo(bob, true)).public_code, true)
      assert.equal((await switchTo(bob, true)).public_code, true)
      assert.deepEqual([await read(), await found(bob.id, k)], [encodeBase64url(k), [bob.id]])
    })

    test('a look-up returns the account, and nothing after it is switched off', async () => {
      const { bob, k } = await speaker('Bob B.')
      const eve = await enrol(subject.server, 'Eve')
      const words = wordsOf(bob.id, k, windowNow())
      const { id } = bob
      const nothing = { handle: null, headline: null }
      const profile = { id, display_name: 'Bob B.', ...nothing, kind: 'person' }
      const known = { accounts: [{ profile, window: windowNow() }], stamps: [], echo: false }
      assert.deepEqual(await ask(eve, words), known)
      assert.equal((await switchTo(bob, false)).public_code, false)
      assert.deepEqual(await ask(eve, words), { accounts: [], stamps: [], echo: false })
      assert.equal((await bob.account.publicCode.read({})).k, null)
      // A deleted secret does not come back by itself.
      await rejects('invalid_state', switchTo(bob, true), { state: 'not_shared' })
    })

    test('accepts the words of the minute before and after, and no others', async () => {
      const { bob, k } = await speaker()
      const now = windowNow()
      for (const [drift, ids] of [
        [-2, []],
        [-1, [bob.id]],
        [0, [bob.id]],
        [1, [bob.id]],
        [2, []],
      ] as const)
        assert.deepEqual(await found(bob.id, k, now + drift), ids, String(drift))
      subject.clock.ms += MINUTE
      assert.deepEqual(await found(bob.id, k, now + 2), [bob.id])
      assert.deepEqual(await found(bob.id, k, now - 1), [])
      // The clock jumps forward and back.
      subject.clock.ms += 999 * MINUTE
      assert.deepEqual(await found(bob.id, k), [bob.id])
      subject.clock.ms -= 999 * MINUTE
      assert.deepEqual(await found(bob.id, k), [bob.id])
      assert.deepEqual(await found(bob.id, k, now + 1000), [])
    })

    test('with a new secret, words of the old secret find nothing', async () => {
      const { bob, k } = await speaker()
      const other = newSecret()
      assert.deepEqual(await found(bob.id, k), [bob.id])
      await share(bob, other)
      assert.deepEqual(await found(bob.id, k), [])
      assert.deepEqual(await found(bob.id, other), [bob.id])
    })

    test('the own words find no account, and count as an echo', async () => {
      const { bob, k } = await speaker()
      const { accounts, echo } = await ask(bob, wordsOf(bob.id, k, windowNow()))
      assert.deepEqual([accounts, echo], [[], true])
      const others = await ask(await enrol(subject.server), wordsOf(bob.id, k, windowNow()))
      assert.deepEqual([others.accounts.length, others.echo], [1, false])
    })

    test('the words of a stamp find the stamp', async () => {
      const bob = await enrol(subject.server, 'Bob')
      const { jti, stamp } = stampOf(bob)
      await bob.account.stamps.create({ body: { stamp } })
      const { accounts, stamps } = await ask(await enrol(subject.server), stampIndices(stamp))
      const [one] = stamps
      assert.deepEqual([accounts, stamps.length, one?.id], [[], 1, jti])
      assert.equal(one?.stamp.issuer, bob.id)
      assert.equal(one?.stamp.signed_at, '2026-01-01T00:00:00.000Z')
      assert.equal(
        Date.parse(one?.stamp.received_at ?? ''),
        Math.floor(subject.clock.ms / 1000) * 1000,
      )
      assert.match(
        one?.stamp.verification_url ?? '',
        new RegExp(`^${PUBLIC_URL}/s/${jti}#[\\w-]{43}$`),
      )
    })

    test('an account has twenty look-ups a minute, found or not', async () => {
      const { bob, k } = await speaker()
      const eve = await enrol(subject.server)
      const words = wordsOf(bob.id, k, windowNow())
      const asked = await Promise.allSettled(
        Array.from({ length: 25 }, (_, i) => ask(eve, i % 2 === 0 ? words : [1, 2, 3])),
      )
      assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 20)
      subject.clock.ms += 10_000
      const { headers } = await rejects('rate_limited', ask(eve, words))
      assert.deepEqual(headers, { 'Retry-After': '50' })
      assert.deepEqual(await found(bob.id, k), [bob.id])
      subject.clock.ms += 50_000
      assert.equal((await ask(eve, words)).accounts.length, 1)
    })

    test('with many concurrent switches, each look-up returns the current state', async () => {
      const people = await Promise.all(Array.from({ length: 8 }, () => speaker()))
      for (let round = 0; round < 3; round++) {
        const on = people.map((_, i) => (i + round) % 3 !== 0)
        await Promise.all(
          people.map(async ({ bob, k }, i) => {
            if (on[i] === true) await share(bob, k)
            await switchTo(bob, on[i] === true)
          }),
        )
        const seen = await Promise.all(people.map(({ bob, k }) => found(bob.id, k)))
        assert.deepEqual(
          seen.map((ids) => ids.length === 1),
          on,
        )
      }
    })

    /**
     * Operations on Bob’s devices that end the public code. A device that has its secret is
     * revoked or lost.
     */
    const fates: [what: string, act: (bob: Person, laptop: Newcomer) => Promise<Person>][] = [
      [
        'a device that another revokes',
        async (bob, laptop) => revoke(bob, laptop.device).then(() => bob),
      ],
      [
        'the loss of all devices',
        async ({ id }) => resetOf(subject.server, id, await subject.server.newEnrolmentCode(id)),
      ],
      [
        'a device that revokes itself, as a thief may do,',
        async (bob, { device, keys, kid, account }) =>
          revoke({ ...bob, device, keys, kid, account }, device).then(() => bob),
      ],
    ]
    const revoke = async (by: Person, device: string) =>
      by.account.keyLogs.append({ body: { entry: await revocationBy(by, device) } })

    for (const [what, act] of fates)
      test(`${what} ends it`, async () => {
        const { bob, k } = await speaker()
        const code = await subject.server.newEnrolmentCode(bob.id)
        const laptop = await join(subject.server, code)
        await approve(bob, laptop)
        assert.equal((await laptop.account.publicCode.read({})).k, encodeBase64url(k))
        const eve = await enrol(subject.server)
        const words = wordsOf(bob.id, k, windowNow())
        assert.equal((await ask(eve, words)).accounts.length, 1)

        const left = await act(bob, laptop)
        const isOn = async () => (await left.account.preferences.read({})).public_code
        const secret = async () => (await left.account.publicCode.read({})).k
        assert.deepEqual((await ask(eve, words)).accounts, [])
        assert.deepEqual([await isOn(), await secret()], [false, null])
        // A new secret does not switch the code on by itself, and its words have nothing to do
        // with the previous ones.
        await rejects('invalid_state', switchTo(left, true), { state: 'not_shared' })
        const other = newSecret()
        await share(left, other)
        assert.deepEqual([await isOn(), await found(bob.id, other)], [false, []])
        await switchTo(left, true)
        assert.deepEqual([await found(bob.id, other), await found(bob.id, k)], [[bob.id], []])
      })

    test('the last device ends it when it revokes itself', async () => {
      const { bob, k } = await speaker()
      await revoke(bob, bob.device)
      assert.deepEqual(await found(bob.id, k), [])
      const code = await subject.server.newEnrolmentCode(bob.id)
      const { entries } = await (
        await enrol(subject.server)
      ).account.keyLogs.read({ account: bob.id })
      const back = await resetOf(subject.server, bob.id, code, entries)
      assert.equal((await back.account.preferences.read({})).public_code, false)
    })

    test('a repeated revocation does not end a code that was switched on since', async () => {
      const { bob } = await speaker()
      const laptop = await join(subject.server, await subject.server.newEnrolmentCode(bob.id))
      await approve(bob, laptop)
      const body = { entry: await revocationBy(bob, laptop.device) }
      await bob.account.keyLogs.append({ body })
      const k = newSecret()
      await share(bob, k)
      await switchTo(bob, true)
      await bob.account.keyLogs.append({ body })
      assert.deepEqual(await found(bob.id, k), [bob.id])
    })

    test('callers without a device and pending devices cannot use it', async () => {
      const address = newAddress()
      const bob = await enrolByMail(subject.server, address, 'Bob')
      const machine = subject.service.as({
        account: bob.id,
        device: null,
        session: null,
        token: 'mtk_x',
      })
      const code = await mailedCode(subject.server, address)
      const { device, enrolment } = await join(subject.server, code)
      const waiting = subject.service.as({
        account: bob.id,
        device,
        session: enrolment.session.session_id,
        token: null,
      })
      for (const [account, refusal] of [
        [machine, 'no_device'],
        [waiting, 'forbidden'],
      ] as const) {
        const k = encodeBase64url(newSecret())
        await rejects(refusal, account.publicCode.create({ body: { k } }))
        await rejects(refusal, account.publicCode.read({}))
        await rejects(refusal, account.preferences.update({ body: { public_code: true } }))
      }
      assert.equal((await machine.preferences.read({})).public_code, false)
      await share(bob, newSecret())
      await switchTo(bob, true)
      // Switching it off needs no secret.
      const off = await machine.preferences.update({ body: { public_code: false } })
      assert.equal(off.public_code, false)
    })

    test('an invalid secret and invalid words are rejected', async () => {
      const bob = await enrol(subject.server)
      const { publicCode, lookups } = bob.account
      for (const k of ['', 'x', 'A'.repeat(42) + 'B', 'A'.repeat(44)])
        await rejects('validation_failed', publicCode.create({ body: { k } }))
      for (const words of [[], [1, 2], [1, 2, 3, 4], [1, 2, 4096], [-1, 2, 3], [1.5, 2, 3]])
        await rejects('validation_failed', lookups.create({ body: { words } }))
    })

    if (replicas)
      test('every replica applies a change of another at once', async () => {
        const other = await openSubject(place, subject.clock)
        const { bob, k } = await speaker()
        const eve = await enrol(other.server)
        const seen = async () => (await ask(eve, wordsOf(bob.id, k, windowNow()))).accounts.length
        assert.equal(await seen(), 1)
        await switchTo(bob, false)
        assert.equal(await seen(), 0)
        await share(bob, k)
        await switchTo(bob, true)
        assert.equal(await seen(), 1)
        await other.close()
      })
  })
}

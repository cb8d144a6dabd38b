/**
 * What an account is, whoever answers: one suite for the embedded server on SQLite, on PostgreSQL, and for a server far away.
 * It speaks through the port alone.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../src/api/port.ts'
import type { Details } from '../src/errors.ts'
import { encodeBase64url } from '../src/crypto/base64url.ts'
import { signAssertion } from '../src/crypto/client-assertion.ts'
import { newDeviceKeys, publicKeys, type DeviceKeys } from '../src/crypto/device-keys.ts'
import { newId } from '../src/crypto/id.ts'
import { thumbprint } from '../src/crypto/jwk.ts'
import { signJws } from '../src/crypto/jws-signature.ts'
import { addDevice, resetLog } from '../src/crypto/key-log.ts'
import { verifyStamp } from '../src/crypto/stamp.ts'
import { approved, changeBy, connected, make, takeIn } from './service/connecting.ts'
import { codeIn } from './service/letters.ts'
import {
  additionBy,
  addressOf,
  approve,
  arrived,
  connect,
  enrol,
  enrolByMail,
  enrolled,
  enrolmentOf,
  furtherOf,
  join,
  logOf,
  mailedCode,
  newAddress,
  newcomerOf,
  newMaker,
  opening,
  resetMaker,
  resetOf,
  revocationBy,
  stampOf,
  tampered,
  type Maker,
  type Person,
  type Server,
} from './service/person.ts'

export interface Subject {
  readonly server: Server
  /** The server's clock, in Unix milliseconds; the suite sets it. */
  readonly clock: { ms: number }
  readonly close: () => Promise<void>
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE

type Call = (account: Account) => Promise<unknown>

/** What both an AppError and a remote account's error show. */
interface Fault extends Error {
  readonly code?: unknown
  readonly details?: Details
}

/** Rejects with this code. */
const fails = (code: string, promise: Promise<unknown>) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, code, error.message)
    return true
  })

/** Rejects because of this member of the body. */
const isInvalid = (path: string, reason: string, promise: Promise<unknown>) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, 'validation_failed', error.message)
    const [issue] = error.details?.issues ?? []
    assert.equal(issue?.path, path)
    assert.match(issue.message, new RegExp(reason))
    return true
  })

/** Every item of a list, page by page. */
export async function everything<T>(
  list: (page: {
    limit?: number
    cursor?: string
  }) => Promise<{ items: T[]; next_cursor: string | null }>,
  limit: number,
): Promise<T[][]> {
  const pages: T[][] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await list({ limit, ...(cursor === undefined ? {} : { cursor }) })
    pages.push(page.items)
    cursor = page.next_cursor
  }
  return pages
}

export function accountSuite(name: string, open: () => Promise<Subject>): void {
  describe(`account: ${name}`, () => {
    let subject: Subject
    let server: Server
    before(async () => {
      subject = await open()
      server = subject.server
    })
    after(() => subject.close())

    const later = (ms: number) => {
      subject.clock.ms += ms
    }
    const time = () => new Date(subject.clock.ms).toISOString()
    /** Behind a daemon the server's 401 is never shown as the caller's. */
    const shutOut = (promise: Promise<unknown>) =>
      assert.rejects(
        promise,
        ({ code }: { code?: unknown }) => code === 'invalid_token' || code === 'not_signed_in',
      )
    const rejected = (access_token: string, { keys }: Pick<Maker, 'keys'>) =>
      shutOut(server.account({ access_token, keys }).context.read({}))
    const newGuest = (
      account: Account,
      { label = 'Plumber', expires_at = new Date(subject.clock.ms + HOUR).toISOString() } = {},
      id = newId('gst_', Date.now()),
    ) => account.deviceGuestCodes.create({ body: { id, label, expires_at } })

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

      test('every server has one receipt key', async () => {
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

      test('a code of its own opens an account that exists; anybody else’s code does not', async () => {
        const ada = await enrol(server)
        const free = await server.newEnrolmentCode()
        await fails('conflict', server.door().enrolment.create(enrolmentOf(ada, free)))
        const own = await server.newEnrolmentCode(ada.id)
        const again = await server.door().enrolment.create(enrolmentOf(ada, own))
        assert.equal(again.account_id, ada.id)
        // The refusal has not bound the free code.
        const bob = newMaker()
        const { account_id } = await server.door().enrolment.create(enrolmentOf(bob, free))
        assert.equal(account_id, bob.id)
      })

      test('another entry for the account, or its device in another account, comes too late', async () => {
        const ada = await enrol(server)
        const other = newMaker({ id: ada.id })
        const own = await server.newEnrolmentCode(ada.id)
        await fails('conflict', server.door().enrolment.create(enrolmentOf(other, own)))
        const thief = newMaker({ device: ada.device })
        const code = await server.newEnrolmentCode()
        await fails('conflict', server.door().enrolment.create(enrolmentOf(thief, code)))
        await fails('not_found', ada.account.keyLogs.read({ account: thief.id }))
      })

      test('a code serves one account', async () => {
        const code = await server.newEnrolmentCode()
        await server.door().enrolment.create(enrolmentOf(newMaker(), code))
        await fails('invalid_token', server.door().enrolment.create(enrolmentOf(newMaker(), code)))
        const own = await server.newEnrolmentCode(newId('acc_', Date.now()))
        await fails('invalid_token', server.door().enrolment.create(enrolmentOf(newMaker(), own)))
      })

      test('a code is read as people type it', async () => {
        const code = await server.newEnrolmentCode()
        assert.match(code, /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}$/)
        const typed = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`
        const { account_id } = await server.door().enrolment.create(enrolmentOf(newMaker(), typed))
        assert.match(account_id, /^acc_/)
      })

      test('no code, a wrong code, a code that ran out', async () => {
        const maker = newMaker()
        const expired = await server.newEnrolmentCode()
        later(15 * MINUTE)
        for (const code of ['', 'x', '\0', 'AAAA-AAAA-AAAA-AAAA', expired]) {
          await fails('invalid_token', server.door().enrolment.create(enrolmentOf(maker, code)))
        }
      })

      test('four wrong guesses leave a code alive, five end it', async () => {
        const guess = (code: string) => code.slice(0, -1) + (code.endsWith('A') ? 'B' : 'A')
        for (const [wrong, alive] of [
          [4, true],
          [5, false],
        ] as const) {
          const code = await server.newEnrolmentCode()
          const maker = newMaker()
          for (let i = 0; i < wrong; i++)
            await fails(
              'invalid_token',
              server.door().enrolment.create(enrolmentOf(maker, guess(code))),
            )
          const right = server.door().enrolment.create(enrolmentOf(maker, code))
          if (alive) await right
          else await fails('invalid_token', right)
        }
      })

      test('a faulty entry is refused and costs no try', async () => {
        const code = await server.newEnrolmentCode()
        const maker = newMaker()
        const { stamp } = stampOf(maker)
        for (const [entry, reason] of [
          [tampered(maker.entry), 'bad_signature'],
          [stamp, 'wrong_typ'],
          ['a.b.c', 'respelt_base64|bad_json|bad_utf8'],
        ] as const)
          for (let i = 0; i < 3; i++)
            await isInvalid(
              'entry',
              reason,
              server.door().enrolment.create(enrolmentOf({ ...maker, entry }, code)),
            )
        await server.door().enrolment.create(enrolmentOf(maker, code))
      })

      test('guesses at the same moment count as one after the other', async () => {
        const code = await server.newEnrolmentCode()
        const wrong = code.slice(0, -1) + (code.endsWith('A') ? 'B' : 'A')
        const maker = newMaker()
        const at = (text: string) => server.door().enrolment.create(enrolmentOf(maker, text))
        const all = await Promise.allSettled(Array.from({ length: 8 }, () => at(wrong)))
        assert.ok(all.every(({ status }) => status === 'rejected'))
        await fails('invalid_token', at(code))
      })

      test('the right code costs no guess, however often it comes', async () => {
        const code = await server.newEnrolmentCode()
        for (let i = 0; i < 7; i++)
          assert.deepEqual(await server.door().signIns.read({ body: { code } }), {
            account_id: null,
            key_log: [],
            email: null,
          })
        await enrolled(server, newMaker(), code)
      })

      test('ten at once with one code: one account', async () => {
        const maker = newMaker()
        const code = await server.newEnrolmentCode()
        const all = await Promise.all(
          Array.from({ length: 10 }, () =>
            server.door().enrolment.create(enrolmentOf(maker, code)),
          ),
        )
        assert.deepEqual(new Set(all.map(({ account_id }) => account_id)), new Set([maker.id]))
        assert.equal(new Set(all.map(({ session }) => session.session_id)).size, 10)
      })

      test('ten at once, each with keys of its own: one device', async () => {
        const code = await server.newEnrolmentCode()
        const all = await Promise.allSettled(
          Array.from({ length: 10 }, () =>
            server.door().enrolment.create(enrolmentOf(newMaker(), code)),
          ),
        )
        assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
      })

      test('either a code or an assertion', async () => {
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
          await fails('validation_failed', call)
      })
    })

    describe('sign-in by mail', () => {
      test('a code makes an account with the address, or opens the one it has', async () => {
        const email = newAddress()
        const code = await mailedCode(server, email)
        const door = server.door()
        const read = (text: string) => door.signIns.read({ body: { code: text } })
        assert.deepEqual(await read(code), { account_id: null, key_log: [], email })
        const ada = await enrolled(server, newMaker(), code)
        assert.equal((await ada.account.context.read({})).user.email, email)
        const next = await mailedCode(server, email)
        for (const text of [code, next])
          assert.deepEqual(await read(text), { account_id: ada.id, key_log: [ada.entry], email })
      })

      test('known or not: the same answer and the same mail', async () => {
        const known = newAddress()
        await enrolByMail(server, known)
        const unknown = newAddress()
        const told = []
        for (const email of [known, unknown]) {
          const reply = await server.door().signIns.create({ body: { email } })
          const letter = (await server.letters(email)).at(-1)!
          const code = codeIn(letter)
          assert.ok(!letter.subject.includes(code))
          const blank = (text: string) => text.replaceAll(email, '').replace(code, '')
          told.push([{ ...reply, email: '' }, blank(letter.subject), blank(letter.text)])
        }
        assert.deepEqual(told[0], told[1])
      })

      test('an address is one in any case, and ASCII: no look-alike has its account', async () => {
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
          await fails('validation_failed', server.door().signIns.create({ body: { email: other } }))
      })

      test('people of one name are two accounts', async () => {
        const [a, b] = [await enrol(server, 'Ada'), await enrol(server, 'Ada')]
        const [one, two] = [
          await b.account.profiles.read({ id: a.id }),
          await a.account.profiles.read({ id: b.id }),
        ]
        assert.deepEqual(one, { id: a.id, display_name: 'Ada', handle: null, kind: 'person' })
        assert.deepEqual(two, { ...one, id: b.id })
      })

      test('five live codes an address, then a pause', async () => {
        const email = newAddress()
        const ask = () => server.door().signIns.create({ body: { email } })
        for (let i = 0; i < 5; i++) await ask()
        await fails('rate_limited', ask())
        assert.equal((await server.letters(email)).length, 5)
        await server.door().signIns.create({ body: { email: newAddress() } })
        later(15 * MINUTE)
        await ask()
      })

      test('asked ten times at once: five at most', async () => {
        const email = newAddress()
        await Promise.allSettled(
          Array.from({ length: 10 }, () => server.door().signIns.create({ body: { email } })),
        )
        assert.ok((await server.letters(email)).length <= 5)
      })

      test('a code serves the device that used it', async () => {
        const email = newAddress()
        const code = await mailedCode(server, email)
        const maker = newMaker()
        await enrolled(server, maker, code)
        await enrolled(server, maker, code)
        await fails('invalid_token', join(server, code))
        await fails('invalid_token', enrolled(server, newMaker(), code))
        const second = await mailedCode(server, email)
        const laptop = newcomerOf()
        const [one, two] = [await join(server, second, laptop), await join(server, second, laptop)]
        assert.notEqual(one.enrolment.session.session_id, two.enrolment.session.session_id)
        await fails('invalid_token', join(server, second))
        const swapped = newcomerOf(newDeviceKeys(), laptop.device)
        await fails('conflict', join(server, second, swapped))
      })

      test('a code of an address opens no other account', async () => {
        const [ada, bob] = [newAddress(), newAddress()]
        const early = await mailedCode(server, ada)
        const [adas, bobs] = [await enrolByMail(server, ada), await enrolByMail(server, bob)]
        // Sent before the address had an account, or after.
        for (const code of [early, await mailedCode(server, ada)]) {
          await fails('invalid_token', enrolled(server, newMaker(), code))
          await fails('invalid_token', enrolled(server, bobs, code))
          await enrolled(server, adas, code)
        }
      })

      test('two devices begin with one new address at once: one account', async () => {
        const email = newAddress()
        const codes = [await mailedCode(server, email), await mailedCode(server, email)]
        const all = await Promise.allSettled(
          codes.map((code) => enrolled(server, newMaker(), code)),
        )
        assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
      })

      test('no further device without a first', async () => {
        await fails('conflict', join(server, await mailedCode(server, newAddress())))
        await fails('conflict', join(server, await server.newEnrolmentCode()))
        await fails('invalid_token', join(server, 'AAAA-AAAA-AAAA-AAAA'))
      })

      test('a further device brings good keys that nobody has', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const code = await mailedCode(server, email)
        const keys = newDeviceKeys()
        const cases: [string, DeviceKeys][] = [
          ['duplicate_key', { ...keys, auth: keys.sign }],
          ['duplicate_key', { ...keys, seal: ada.keys.seal }],
          ['bad_key', { ...keys, seal: keys.sign }],
          ['bad_value', { ...keys, sign: { ...keys.sign, jwk: { ...keys.sign.jwk, x: 'AA' } } }],
        ]
        for (const [reason, bad] of cases)
          await isInvalid('keys', reason, join(server, code, newcomerOf(bad)))
        await join(server, code)
      })
    })

    describe('further devices', () => {
      /** A person with a mailbox and a second device that waits. */
      async function withNewcomer() {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const laptop = await join(server, await mailedCode(server, email))
        return { email, ada, laptop }
      }

      test('waits, is added, confirms the log, and may do what a device may', async () => {
        const { email, ada, laptop } = await withNewcomer()
        assert.equal(ada.enrolment.approved, true)
        assert.equal(laptop.enrolment.approved, false)
        assert.deepEqual((await ada.account.pendingDevices.list({})).items, [
          {
            id: laptop.device,
            name: 'laptop 2',
            platform: 'linux',
            keys: publicKeys(laptop.keys),
            created_at: time(),
          },
        ])
        const entry = await additionBy(ada, laptop)
        const { entries } = await ada.account.keyLogs.append({ body: { entry } })
        assert.deepEqual(entries, [ada.entry, entry])
        assert.deepEqual((await ada.account.pendingDevices.list({})).items, [])
        // In the log, and yet to compare it.
        await fails('forbidden', newGuest(laptop.account))
        const { head } = await logOf({ ...laptop, id: ada.id })
        await laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
        await newGuest(laptop.account)
        // Whoever did not hear the answer says it again.
        await laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
        const again = await ada.account.keyLogs.append({ body: { entry } })
        assert.deepEqual(again.entries, entries)
        await arrived(server, email, /new device, "laptop 2", was added/)
      })

      test('list: newest first, each with its state and keys', async () => {
        const { ada, laptop } = await withNewcomer()
        const kids = ({ sign, seal }: DeviceKeys) => [thumbprint(sign.jwk), thumbprint(seal.jwk)]
        const of = { platform: 'linux', last_seen_at: time(), created_at: time() } as const
        const expected = [
          {
            ...of,
            id: laptop.device,
            name: 'laptop 2',
            state: 'pending',
            current: false,
            key_ids: kids(laptop.keys),
          },
          {
            ...of,
            id: ada.device,
            name: "Ada's laptop",
            state: 'active',
            current: true,
            key_ids: kids(ada.keys),
          },
        ]
        const { devices } = ada.account
        assert.deepEqual((await devices.list({})).items, expected)
        assert.deepEqual(
          (await everything(devices.list, 1)).flat().map(({ id }) => id),
          [laptop.device, ada.device],
        )
        await approve(ada, laptop)
        const { items } = await laptop.account.devices.list({})
        assert.deepEqual(
          items.map(({ state, current, key_ids }) => [state, current, key_ids]),
          [
            ['active', true, kids(laptop.keys)],
            ['active', false, kids(ada.keys)],
          ],
        )
      })

      test('while it waits it reads, and nothing else', async () => {
        const { ada, laptop } = await withNewcomer()
        const { id } = await connect(ada)
        const guest = await newGuest(ada.account)
        const { account } = laptop
        const reads: Call[] = [
          (of) => of.context.read({}),
          (of) => of.connections.list({}),
          (of) => of.connections.read({ id }),
          (of) => of.devices.list({}),
          (of) => of.keyLogs.read({ account: ada.id }),
          (of) => of.profiles.read({ id: ada.id }),
        ]
        for (const call of reads) await call(account)
        const entry = await additionBy(ada, laptop)
        const opened = await opening(ada)
        const writes: Call[] = [
          (of) => of.connections.update({ id, body: { name: 'x' } }),
          (of) => of.connections.favorite({ id, body: {} }),
          (of) => of.connections.delete({ id }),
          (of) => of.guestCodes.delete({ id: guest.id }),
          (of) => of.devices.delete({ id: ada.device }),
          (of) => of.devices.delete({ id: laptop.device }),
          (of) => newGuest(of),
          (of) => of.rosters.open({ body: opened }),
          (of) => of.rosters.read({ connection: id }),
          (of) => of.envelopes.read({ connection: id }),
          (of) => of.stamps.create({ body: { stamp: stampOf(ada).stamp } }),
          (of) => of.verifications.push({ body: { items: [] } }),
          (of) => of.pendingDevices.list({}),
          (of) => of.keyLogs.append({ body: { entry } }),
          (of) => of.organisations.create({ body: { name: 'Acme' } }),
          (of) => of.machineTokens.list({}),
        ]
        for (const call of writes) await fails('forbidden', call(account))
        await fails(
          'invalid_state',
          account.approval.create({ body: { head: encodeBase64url((await logOf(ada)).head) } }),
        )
        assert.deepEqual((await ada.account.connections.read({ id })).name, 'Bob')
      })

      test('no envelope is sealed to it before it is in the log', async () => {
        const { ada, laptop } = await withNewcomer()
        const body = await opening(ada, 'Bob', {
          envelopeOf: { recipient: laptop.device, recipientSeal: laptop.keys.seal.jwk },
        })
        await isInvalid('envelopes', 'wrong_recipient', ada.account.rosters.open({ body }))
      })

      test('what the server refuses to put into a log', async () => {
        const { ada, laptop } = await withNewcomer()
        const { laptop: theirs } = await withNewcomer()
        const evil = newcomerOf(newDeviceKeys(), laptop.device)
        const stranger = newcomerOf()
        const log = await logOf(ada)
        const reset = resetLog({ log, device: stranger.device, keys: stranger.keys, at: 1 })
        const self = addDevice({
          log,
          device: { id: laptop.device, keys: publicKeys(laptop.keys) },
          by: ada.device,
          kid: ada.kid,
          seed: ada.keys.sign.secret,
          at: 1,
        })
        const forged = (of: { by?: string; kid?: string }) => {
          const payload = JSON.parse(
            Buffer.from(self.split('.')[1]!, 'base64url').toString(),
          ) as object
          const { kid = laptop.kid, ...rest } = of
          return signJws('keylog+jws', kid, { ...payload, ...rest }, laptop.keys.sign.secret)
        }
        const cases: [string, string][] = [
          ['bad_key', await additionBy(ada, evil)],
          ['unknown_device', await additionBy(ada, stranger)],
          ['unknown_device', await additionBy(ada, theirs)],
          ['unknown_signer', forged({ by: laptop.device })],
          ['kid_mismatch', forged({})],
          ['bad_signature', forged({ kid: ada.kid })],
          ['bad_signature', tampered(self)],
          ['bad_op', reset],
          ['wrong_typ', stampOf(ada).stamp],
        ]
        for (const [reason, entry] of cases)
          await isInvalid('entry', reason, ada.account.keyLogs.append({ body: { entry } }))
        assert.deepEqual((await logOf(ada)).entries, [ada.entry])
        await approve(ada, laptop)
      })

      test('a device appends what it signed itself, not what another of the account signed', async () => {
        const { ada, laptop } = await withNewcomer()
        await approve(ada, laptop)
        const entry = await revocationBy({ ...laptop, id: ada.id }, ada.device)
        await isInvalid('entry', 'unknown_signer', ada.account.keyLogs.append({ body: { entry } }))
        await laptop.account.keyLogs.append({ body: { entry } })
        await shutOut(ada.account.context.read({}))
      })

      test('of two entries after the same one, the first counts', async () => {
        const { email, ada, laptop } = await withNewcomer()
        const second = await join(server, await mailedCode(server, email))
        const entries = [await additionBy(ada, laptop), await additionBy(ada, second)]
        const all = await Promise.allSettled(
          entries.map((entry) => ada.account.keyLogs.append({ body: { entry } })),
        )
        assert.deepEqual(all.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
        const kept = (await logOf(ada)).entries
        assert.equal(kept.length, 2)
        const fork = entries.find((entry) => !kept.includes(entry))!
        await fails('conflict', ada.account.keyLogs.append({ body: { entry: fork } }))
      })

      test('the newcomer confirms the newest entry, and none without it', async () => {
        const { ada, laptop } = await withNewcomer()
        const confirm = async (head: Uint8Array) =>
          laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
        const before = (await logOf(ada)).head
        await ada.account.keyLogs.append({ body: { entry: await additionBy(ada, laptop) } })
        await fails('conflict', confirm(before))
        await fails('conflict', confirm(new Uint8Array(32)))
        await confirm((await logOf(ada)).head)
      })

      test('delete turns away one that waits; one in the log takes a signature', async () => {
        const { ada, laptop } = await withNewcomer()
        const eve = await enrol(server)
        await fails('not_found', eve.account.devices.delete({ id: laptop.device }))
        await ada.account.devices.delete({ id: laptop.device })
        await shutOut(laptop.account.context.read({}))
        await fails('not_found', ada.account.devices.delete({ id: laptop.device }))
        await fails('no_device', ada.account.devices.delete({ id: ada.device }))
        for (const id of ['x', newId('dev_', 1), ada.id])
          await fails('not_found', ada.account.devices.delete({ id }))
        await ada.account.context.read({})
      })

      test('a revoked device is refused at its next request', async () => {
        const { email, ada, laptop } = await withNewcomer()
        await approve(ada, laptop)
        const { refresh_token } = laptop.enrolment.session
        await laptop.account.context.read({})
        const entry = await revocationBy(ada, laptop.device)
        await ada.account.keyLogs.append({ body: { entry } })
        await shutOut(laptop.account.context.read({}))
        await fails(
          'invalid_token',
          server.door(laptop.keys.auth).session.renew({ body: { refresh_token } }),
        )
        await fails('invalid_state', join(server, await mailedCode(server, email), laptop))
        const { items } = await ada.account.devices.list({})
        assert.deepEqual(
          items.map(({ id }) => id),
          [ada.device],
        )
        await fails('not_found', ada.account.devices.delete({ id: laptop.device }))
      })

      test('a device revokes itself, the last one too; then only a reset follows', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const entry = await revocationBy(ada, ada.device)
        await ada.account.keyLogs.append({ body: { entry } })
        await shutOut(ada.account.context.read({}))
        const code = await mailedCode(server, email)
        await fails('conflict', join(server, code))
        await fails('invalid_state', enrolled(server, ada, code))
        const { key_log } = await server.door().signIns.read({ body: { code } })
        assert.deepEqual(key_log, [ada.entry, entry])
        await resetOf(server, ada.id, code)
      })
    })

    describe('reset', () => {
      test('one new device, and nothing of the old ones', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const [second, waiting] = [
          await join(server, await mailedCode(server, email)),
          await join(server, await mailedCode(server, email)),
        ]
        await approve(ada, second)
        const code = await mailedCode(server, email)
        const renewed = await resetOf(server, ada.id, code)
        assert.equal(renewed.enrolment.account_id, ada.id)
        assert.equal(renewed.enrolment.approved, true)
        for (const { account, enrolment, keys } of [ada, second, waiting]) {
          await shutOut(account.context.read({}))
          const { refresh_token } = enrolment.session
          const door = server.door(keys.auth)
          await fails('invalid_token', door.session.renew({ body: { refresh_token } }))
        }
        const { items } = await renewed.account.devices.list({})
        assert.deepEqual(
          items.map((device) => device.id),
          [renewed.device],
        )
        const log = await logOf(renewed)
        assert.equal(log.generation, 2)
        assert.deepEqual((await renewed.account.context.read({})).user.email, email)
        const letter = await arrived(server, email, /were replaced by a new one, "Ada's laptop"/)
        assert.match(letter.subject, /were replaced/)
      })

      test('the same entry with its code again: another session', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const code = await mailedCode(server, email)
        const renewed = await resetOf(server, ada.id, code)
        const again = await enrolled(server, renewed, code)
        await again.account.context.read({})
        await renewed.account.context.read({})
        assert.equal((await logOf(again)).seq, 1)
      })

      test('takes a credential of that account, and the newest entry', async () => {
        const email = newAddress()
        const [ada, eve] = [
          await enrolByMail(server, email),
          await enrolByMail(server, newAddress()),
        ]
        const other = await mailedCode(server, await addressOf(eve))
        await fails('invalid_token', resetOf(server, ada.id, other, [ada.entry]))
        const free = await server.newEnrolmentCode()
        await fails('conflict', resetOf(server, ada.id, free, [ada.entry]))
        const laptop = await join(server, await mailedCode(server, email))
        await approve(ada, laptop)
        const code = await mailedCode(server, email)
        await fails('conflict', resetOf(server, ada.id, code, [ada.entry]))
        const maker = newMaker()
        const nobody = resetMaker(maker.id, [maker.entry])
        await isInvalid('entry', 'bad_op|gap', enrolled(server, nobody, free))
        await ada.account.context.read({})
        await resetOf(server, ada.id, code)
      })
    })

    describe('machine accounts', () => {
      test('enrol with assertions: first device, further one, reset', async () => {
        const owner = await enrol(server)
        const { auth: key } = newDeviceKeys()
        const organisation = await owner.account.organisations.create({ body: { name: 'Acme' } })
        const { account_id: id } = await owner.account.machines.create({
          body: { organisation_id: organisation.id, name: 'billing', key: key.jwk },
        })
        const { public_url: audience } = await server.door().clock.read({})
        const assert_ = () =>
          signAssertion({ account: id, audience, at: Math.floor(subject.clock.ms / 1000) }, key)
        const present = async <B extends { code: string }>({ body }: { body: B }) => {
          const { code: _, ...rest } = body
          return { body: { ...rest, assertion: await assert_() } }
        }
        const { enrolment, signIns } = server.door()
        assert.deepEqual(await signIns.read({ body: { assertion: await assert_() } }), {
          account_id: id,
          key_log: [],
          email: null,
        })
        await fails('conflict', enrolment.further(await present(furtherOf(newcomerOf(), ''))))
        const maker = newMaker({ id })
        const request = await present(enrolmentOf(maker, ''))
        const made = await enrolment.create(request)
        await fails('invalid_client', enrolment.create(request))
        const account = server.account({ ...made.session, keys: maker.keys })
        const { user, organisations } = await account.context.read({})
        assert.deepEqual(user, { id, display_name: 'billing', email: null, kind: 'machine' })
        assert.deepEqual(organisations, [{ ...organisation, role: 'member' }])
        const read = await signIns.read({ body: { assertion: await assert_() } })
        assert.deepEqual(read.key_log, [maker.entry])
        await fails('conflict', enrolment.create(await present(enrolmentOf(newMaker({ id }), ''))))
        await fails('invalid_token', enrolment.create(await present(enrolmentOf(newMaker(), ''))))
        const second = newcomerOf()
        const further = await enrolment.further(await present(furtherOf(second, '')))
        assert.equal(further.approved, false)
        const reset = resetMaker(id, [maker.entry])
        const again = await enrolment.create(await present(enrolmentOf(reset, '')))
        assert.equal(again.approved, true)
        await shutOut(account.context.read({}))
      })
    })

    describe('session', () => {
      const renew = ({ keys, enrolment }: Pick<Person, 'keys' | 'enrolment'>) => {
        const { refresh_token } = enrolment.session
        return server.door(keys.auth).session.renew({ body: { refresh_token } })
      }

      test('a renewal gives another access token; the one before lives on, the refresh token stays', async () => {
        const ada = await enrol(server)
        const { access_token, refresh_token, session_id, access_expires_at } = ada.enrolment.session
        assert.equal(access_expires_at, new Date(subject.clock.ms + HOUR).toISOString())
        later(MINUTE)
        const next = await renew(ada)
        assert.deepEqual(
          { ...next, access_token: '' },
          {
            session_id,
            refresh_token,
            access_token: '',
            access_expires_at: new Date(subject.clock.ms + HOUR).toISOString(),
          },
        )
        assert.notEqual(next.access_token, access_token)
        for (const token of [access_token, next.access_token]) {
          const account = server.account({ access_token: token, keys: ada.keys })
          assert.equal((await account.context.read({})).user.id, ada.id)
        }
        await renew(ada)
      })

      test('two renewals at once sign nobody out', async () => {
        const ada = await enrol(server)
        const all = await Promise.all([renew(ada), renew(ada)])
        for (const session of all)
          await server.account({ ...session, keys: ada.keys }).context.read({})
      })

      test('a session is renewed by its key alone', async () => {
        const [ada, eve] = [await enrol(server), await enrol(server)]
        const { refresh_token } = ada.enrolment.session
        for (const key of [undefined, eve.keys.auth, ada.keys.sign, newDeviceKeys().auth])
          await fails('invalid_token', server.door(key).session.renew({ body: { refresh_token } }))
        await renew(ada)
      })

      test('a stolen access token opens nothing with another key', async () => {
        const [ada, eve] = [await enrol(server), await enrol(server)]
        const { access_token } = ada.enrolment.session
        await rejected(access_token, eve)
        await rejected(access_token, { keys: { ...ada.keys, auth: ada.keys.sign } })
        await ada.account.context.read({})
      })

      test('the end of a session is the end of its tokens, and of no other session', async () => {
        const maker = newMaker()
        const code = await server.newEnrolmentCode()
        const [one, two] = [
          await enrolled(server, maker, code),
          await enrolled(server, maker, code),
        ]
        const other = await renew(one)
        await one.account.currentSession.delete({})
        await shutOut(one.account.context.read({}))
        await rejected(other.access_token, one)
        await fails('invalid_token', renew(one))
        await two.account.context.read({})
      })

      test('a newcomer that leaves is not in the way', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const laptop = await join(server, await mailedCode(server, email))
        await laptop.account.currentSession.delete({})
        assert.deepEqual((await ada.account.pendingDevices.list({})).items, [])
      })

      test('an access token lives an hour', async () => {
        const ada = await enrol(server)
        later(HOUR - 1)
        await ada.account.context.read({})
        later(1)
        await shutOut(ada.account.context.read({}))
      })

      test('a token is good for what it is', async () => {
        const ada = await enrol(server)
        const { session } = ada.enrolment
        for (const text of [session.refresh_token, 'x', ada.entry]) await rejected(text, ada)
        for (const refresh_token of [session.access_token, '', 'x'])
          await fails(
            'invalid_token',
            server.door(ada.keys.auth).session.renew({ body: { refresh_token } }),
          )
      })

      test('the clock is the server’s', async () => {
        const { now, public_url } = await server.door().clock.read({})
        assert.equal(now, time())
        assert.match(public_url, /^https?:\/\/[^/]+$/)
      })
    })

    describe('connections', () => {
      test('open makes a pending connection of one owner', async () => {
        const ada = await enrol(server)
        const body = await opening(ada, 'Bob')
        const made = await ada.account.rosters.open({ body })
        assert.deepEqual(made, {
          id: body.connection,
          name: 'Bob',
          kind: 'direct',
          state: 'pending',
          favorite: false,
          tag_ids: [],
          members: [{ user_id: ada.id, display_name: 'Ada', role: 'owner', state: 'active' }],
          preset_id: null,
          epoch: 1,
          secret_here: false,
          created_at: time(),
          updated_at: time(),
        })
        assert.deepEqual(await ada.account.connections.read({ id: made.id }), made)
        const roster = await ada.account.rosters.read({ connection: made.id })
        assert.deepEqual(roster.entries, [body.entry])
        const { envelopes } = await ada.account.envelopes.read({ connection: made.id })
        assert.deepEqual(envelopes, body.envelopes)
      })

      test('open again: the same entry finds the connection, another is refused', async () => {
        const ada = await enrol(server)
        const body = await opening(ada, 'Bob')
        const all = await Promise.all(
          Array.from({ length: 5 }, () => ada.account.rosters.open({ body })),
        )
        for (const one of all) assert.deepEqual(one, all[0])
        const { connection } = body
        const other = await opening(ada, 'Bob', { connection, entryOf: { at: 1 } })
        await fails('conflict', ada.account.rosters.open({ body: other }))
        const eve = await enrol(server)
        const theirs = await opening(eve, 'Bob', { connection })
        await fails('conflict', eve.account.rosters.open({ body: theirs }))
        const roster = await ada.account.rosters.read({ connection })
        assert.deepEqual(roster.entries, [body.entry])
      })

      test('open refuses what members would refuse', async () => {
        const [ada, eve] = [await enrol(server), await enrol(server)]
        const strange = newDeviceKeys()
        const good = await opening(ada)
        const { connection } = good
        const of = (more: Parameters<typeof opening>[2]) =>
          opening(ada, 'Bob', { connection, ...more })
        const [envelope] = good.envelopes
        const cases: [string, string, typeof good][] = [
          ['entry', 'actor_log_mismatch', await opening(eve, 'Bob', { connection })],
          ['entry', 'wrong_connection', { ...good, connection: newId('con_', Date.now()) }],
          ['entry', 'bad_signature', { ...good, entry: tampered(good.entry) }],
          ['entry', 'unknown_signer', await of({ entryOf: { device: eve.device } })],
          ['envelopes', 'bad_signature', { ...good, envelopes: [tampered(envelope!)] }],
          ['envelopes', 'duplicate_device', { ...good, envelopes: [envelope!, envelope!] }],
          ['envelopes', 'wrong_connection', { ...good, envelopes: (await opening(ada)).envelopes }],
          ['envelopes', 'unknown_epoch', await of({ envelopeOf: { epoch: 2 } })],
          [
            'envelopes',
            'wrong_epoch_head',
            await of({ envelopeOf: { epochHead: new Uint8Array(32) } }),
          ],
          ['envelopes', 'unknown_signer', await of({ envelopeOf: { sender: eve.device } })],
          ['envelopes', 'wrong_recipient', await of({ envelopeOf: { recipient: eve.device } })],
          [
            'envelopes',
            'wrong_recipient_kid',
            await of({ envelopeOf: { recipientSeal: strange.seal.jwk } }),
          ],
          ['envelopes', 'Invalid length|>=1', { ...good, envelopes: [] }],
        ]
        for (const [path, reason, body] of cases)
          await isInvalid(path, reason, ada.account.rosters.open({ body }))
        await fails('not_found', ada.account.connections.read({ id: connection }))
        await ada.account.rosters.open({ body: good })
      })

      test('list: newest first, page by page', async () => {
        const { account, ...ada } = await enrol(server)
        const ids: string[] = []
        for (let i = 0; i < 5; i++) ids.unshift((await connect({ account, ...ada }, `No. ${i}`)).id)
        const pages = await everything(account.connections.list, 2)
        assert.deepEqual(
          pages.map((page) => page.map(({ id }) => id)),
          [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)],
        )
        const whole = await account.connections.list({ limit: 5 })
        assert.equal(whole.next_cursor, null)
        assert.deepEqual(whole.items, pages.flat())
      })

      test('a page is not moved by what comes and goes', async () => {
        const ada = await enrol(server)
        for (let i = 0; i < 4; i++) await connect(ada)
        const first = await ada.account.connections.list({ limit: 2 })
        const all = (await ada.account.connections.list({})).items.map(({ id }) => id)
        await ada.account.connections.delete({ id: first.items[1]!.id })
        await connect(ada)
        const second = await ada.account.connections.list({ limit: 2, cursor: first.next_cursor! })
        assert.deepEqual(
          second.items.map(({ id }) => id),
          all.slice(2),
        )
      })

      test('update is a merge', async () => {
        const ada = await enrol(server)
        const { id, ...made } = await connect(ada, 'Bob')
        later(1000)
        assert.deepEqual(await ada.account.connections.update({ id, body: {} }), { id, ...made })
        const renamed = await ada.account.connections.update({ id, body: { name: 'Bert' } })
        assert.deepEqual(renamed, { id, ...made, name: 'Bert', updated_at: time() })
        later(1000)
        const starred = await ada.account.connections.update({ id, body: { favorite: true } })
        assert.deepEqual(starred, { ...renamed, favorite: true, updated_at: time() })
        assert.deepEqual(await ada.account.connections.read({ id }), starred)
      })

      test('favorite: on unless told; twice is as once', async () => {
        const ada = await enrol(server)
        const { id } = await connect(ada)
        const on = await ada.account.connections.favorite({ id, body: undefined })
        assert.equal(on.favorite, true)
        later(1000)
        assert.deepEqual(await ada.account.connections.favorite({ id, body: {} }), on)
        const off = await ada.account.connections.favorite({ id, body: { favorite: false } })
        assert.equal(off.favorite, false)
      })

      test('delete removes all of it, once', async () => {
        const ada = await enrol(server)
        const [gone, kept] = [await connect(ada), await connect(ada)]
        const { id } = gone
        assert.equal(await ada.account.connections.delete({ id }), undefined)
        await fails('not_found', ada.account.connections.delete({ id }))
        await fails('not_found', ada.account.connections.read({ id }))
        await fails('not_found', ada.account.rosters.read({ connection: id }))
        await fails('not_found', ada.account.envelopes.read({ connection: id }))
        const { items } = await ada.account.connections.list({})
        assert.deepEqual(items, [kept])
      })

      test('twenty at once', async () => {
        const ada = await enrol(server)
        const made = await Promise.all(Array.from({ length: 20 }, () => connect(ada)))
        const { items } = await ada.account.connections.list({})
        assert.deepEqual(new Set(items.map(({ id }) => id)), new Set(made.map(({ id }) => id)))
      })
    })

    describe('people in a connection', () => {
      test('an invitation, its approval, and the entry that takes somebody in', async () => {
        const [ada, bob] = [await enrol(server, 'Ada'), await enrol(server, 'Bob')]
        const { id } = await connect(ada, 'Club')
        const asked = await ada.account.members.add({ id, body: { user_id: bob.id } })
        assert.equal(asked.state, 'pending')
        const { received } = await bob.account.invitations.pending({})
        assert.deepEqual(received, [{ ...asked, direction: 'received' }])
        await bob.account.invitations.approve({ id: asked.id })
        assert.deepEqual((await ada.account.duties.read({})).joins, [
          { connection: id, account: bob.id, email: null },
        ])
        await fails('not_found', bob.account.connections.read({ id }))
        const { seq } = await make(ada, id, { op: 'add', member: bob.id })
        assert.equal(seq, 1)
        assert.deepEqual(await ada.account.duties.read({}), { joins: [], unsealed: [] })
        const theirs = await bob.account.connections.read({ id })
        assert.deepEqual([theirs.name, theirs.state, theirs.kind], ['Ada', 'active', 'direct'])
        const { entries, key_logs } = await bob.account.rosters.read({ connection: id })
        assert.equal(entries.length, 2)
        assert.deepEqual(
          new Map(key_logs.map(({ account, seq: newest }) => [account, newest])),
          new Map([
            [ada.id, 0],
            [bob.id, 0],
          ]),
        )
        const { envelopes } = await bob.account.envelopes.read({ connection: id })
        assert.equal(envelopes.length, 1)
      })

      test('whoever is second is told where the roster is', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada, bob] = people
        const { body } = await changeBy(bob, id, { op: 'rotate' })
        const { head } = await make(ada, id, { op: 'rotate' })
        await assert.rejects(
          bob.account.rosters.append({ connection: id, body }),
          (error: Fault) => {
            assert.deepEqual([error.code, error.details?.head], ['conflict', head])
            return true
          },
        )
      })

      test('everybody has a name of their own for it, and nobody ends it for others', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada, bob] = people
        await bob.account.connections.update({ id, body: { name: 'Ada L.', favorite: true } })
        const seen = []
        for (const { account } of people) {
          const { name, favorite } = await account.connections.read({ id })
          seen.push([name, favorite])
          await fails('no_device', account.connections.delete({ id }))
        }
        assert.deepEqual(seen, [
          ['Club', false],
          ['Ada L.', true],
        ])
        await make(bob, id, { op: 'leave' })
        await fails('not_found', bob.account.connections.read({ id }))
        await ada.account.connections.delete({ id })
      })

      test('a state that does not allow it is told', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada, bob] = people
        const carl = await enrol(server)
        const cases: [string, () => Promise<unknown>][] = [
          ['self', () => ada.account.members.add({ id, body: { user_id: ada.id } })],
          ['member', () => ada.account.members.add({ id, body: { user_id: bob.id } })],
          ['not_approved', () => make(ada, id, { op: 'add', member: carl.id })],
        ]
        for (const [state, call] of cases)
          await assert.rejects(call(), (error: Fault) => {
            assert.deepEqual([error.code, error.details?.state], ['invalid_state', state])
            return true
          })
        await approved(ada, id, carl)
        await ada.account.members.remove({ id, mid: carl.id })
        await takeIn(ada, id, carl)
      })
    })

    describe('guest codes', () => {
      test('create answers the code without its secret', async () => {
        const { account } = await enrol(server)
        const expires_at = new Date(subject.clock.ms + HOUR).toISOString()
        const made = await newGuest(account, { label: 'Plumber', expires_at })
        assert.deepEqual(made, {
          id: made.id,
          label: 'Plumber',
          state: 'active',
          expires_at,
          external_member_id: null,
          last_opened_at: null,
          secret_here: false,
          code: null,
          created_at: time(),
        })
        assert.deepEqual((await account.guestCodes.list({})).items, [made])
      })

      test('create again is as once; another with the id is refused', async () => {
        const [ada, eve] = [await enrol(server), await enrol(server)]
        const expires_at = new Date(subject.clock.ms + HOUR).toISOString()
        const made = await newGuest(ada.account, { expires_at })
        later(1000)
        assert.deepEqual(await newGuest(ada.account, { expires_at }, made.id), made)
        await fails('conflict', newGuest(ada.account, { label: 'Baker', expires_at }, made.id))
        await fails('conflict', newGuest(ada.account, {}, made.id))
        await fails('conflict', newGuest(eve.account, { expires_at }, made.id))
        assert.deepEqual((await ada.account.guestCodes.list({})).items, [made])
      })

      test('delete revokes, and may be repeated; expiry is by the clock', async () => {
        const { account } = await enrol(server)
        const state = async () => (await account.guestCodes.list({})).items.map((one) => one.state)
        const expires_at = new Date(subject.clock.ms + MINUTE).toISOString()
        await newGuest(account, { expires_at })
        const { id } = await newGuest(account, { expires_at })
        assert.equal(await account.guestCodes.delete({ id }), undefined)
        assert.equal(await account.guestCodes.delete({ id }), undefined)
        assert.deepEqual(await state(), ['revoked', 'active'])
        later(MINUTE)
        assert.deepEqual(await state(), ['revoked', 'expired'])
      })

      test('fifty a page unless told', async () => {
        const { account } = await enrol(server)
        await Promise.all(Array.from({ length: 51 }, () => newGuest(account)))
        const { items, next_cursor } = await account.guestCodes.list({})
        assert.equal(items.length, 50)
        const rest = await account.guestCodes.list({ cursor: next_cursor! })
        assert.equal(rest.items.length, 1)
        const ids = [...items, ...rest.items].map(({ id }) => id)
        assert.deepEqual(ids, [...new Set(ids)].sort().reverse())
      })
    })

    describe('stamps', () => {
      test('a receipt verifies under the pinned key, and is the same again', async () => {
        const ada = await enrol(server)
        const { jti, stamp } = stampOf(ada)
        const { receipt } = await ada.account.stamps.create({ body: { stamp } })
        const serverKey = ada.enrolment.receipt_key
        const facts = verifyStamp({ stamp, key_log: [ada.entry], receipt }, { serverKey })
        assert.deepEqual(
          { ...facts.receipt, stamp_sha256: '' },
          {
            v: 1,
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

      test('the server says what it knows, not what the stamp claims', async () => {
        const ada = await enrol(server)
        const { stamp } = stampOf(ada, { assurance: 'organisation' })
        const { receipt } = await ada.account.stamps.create({ body: { stamp } })
        const serverKey = ada.enrolment.receipt_key
        const facts = verifyStamp({ stamp, key_log: [ada.entry], receipt }, { serverKey })
        assert.equal(facts.receipt?.assurance, 'device')
      })

      test('another stamp under the id is refused', async () => {
        const ada = await enrol(server)
        const { jti, stamp } = stampOf(ada)
        await ada.account.stamps.create({ body: { stamp } })
        const other = stampOf(ada, { jti, ctx: 'another' })
        await fails('conflict', ada.account.stamps.create({ body: { stamp: other.stamp } }))
      })

      test('what would not verify is not registered', async () => {
        const [ada, eve] = [await enrol(server), await enrol(server)]
        const { stamp } = stampOf(ada)
        const cases: [string, string][] = [
          ['bad_signature', tampered(stamp)],
          ['wrong_account', stampOf(eve).stamp],
          ['key_log_mismatch', stampOf(eve, { iss: ada.id }).stamp],
          ['unknown_signer', stampOf(ada, { dev: eve.device }).stamp],
          ['wrong_typ', ada.entry],
        ]
        for (const [reason, bad] of cases)
          await isInvalid('stamp', reason, ada.account.stamps.create({ body: { stamp: bad } }))
      })
    })

    describe('verification log', () => {
      const entryOf = (id = newId('ver_', Date.now()), display_name = 'Bob') => ({
        id,
        at: new Date(Date.now()).toISOString(),
        method: 'local' as const,
        outcome: 'verified' as const,
        matches: [
          {
            kind: 'guest' as const,
            speaker: 'other' as const,
            guest_code_id: newId('gst_', Date.now()),
            display_name,
            window: 29453760,
          },
        ],
        caller: null,
      })

      test('push keeps the first of an id, list gives back what was pushed', async () => {
        const [ada, bob] = [await enrol(server), await enrol(server)]
        const [a, b, c] = [entryOf(), entryOf(), entryOf()]
        const push = (person: Person, ...items: ReturnType<typeof entryOf>[]) =>
          person.account.verifications.push({ body: { items } })
        assert.deepEqual(await push(ada, b, a), { accepted: 2 })
        assert.deepEqual(await push(ada, entryOf(a.id, 'Eve'), c, b), { accepted: 1 })
        assert.deepEqual(await push(ada), { accepted: 0 })
        assert.deepEqual(await push(ada, ...Array<typeof a>(3).fill(a)), { accepted: 0 })
        const pages = await everything(ada.account.verificationLog.list, 2)
        assert.deepEqual(pages, [[c, b], [a]])
        // An id is an account's own: another's entry with it is another entry.
        assert.deepEqual(await push(bob, entryOf(a.id, 'Bert')), { accepted: 1 })
        const { items } = await bob.account.verificationLog.list({})
        assert.equal(items[0]?.matches[0]?.display_name, 'Bert')
      })

      test('push takes five hundred', async () => {
        const { account } = await enrol(server)
        const items = Array.from({ length: 500 }, () => entryOf())
        assert.deepEqual(await account.verifications.push({ body: { items } }), { accepted: 500 })
        await isInvalid(
          'items',
          '500',
          account.verifications.push({ body: { items: [...items, entryOf()] } }),
        )
      })
    })

    describe('keys of a person', () => {
      test('anybody signed in reads them from the log, page by page', async () => {
        const ada = await enrol(server, 'Ada')
        const at = time()
        later(MINUTE)
        const bob = await enrol(server, 'Bob')
        const [seal, sign] = (['seal', 'sign'] as const).map((use) => ({
          id: thumbprint(ada.keys[use].jwk),
          use,
          jwk: ada.keys[use].jwk,
          device_name: "Ada's laptop",
          created_at: at,
        }))
        const { items, next_cursor } = await bob.account.profiles.keys({ id: ada.id })
        assert.deepEqual(items, [sign, seal])
        assert.equal(next_cursor, null)
        const pages = await everything(
          (page) => bob.account.profiles.keys({ id: ada.id, ...page }),
          1,
        )
        assert.deepEqual(pages, [[sign], [seal]])
        const log = await bob.account.keyLogs.read({ account: ada.id })
        assert.deepEqual(log.entries, [ada.entry])
      })
    })

    test('a cursor that no list gave, and a limit that none takes', async () => {
      const ada = await enrol(server)
      await connect(ada)
      await connect(ada)
      const { next_cursor } = await ada.account.connections.list({ limit: 1 })
      const { connections, guestCodes, verificationLog, profiles } = ada.account
      const keys: typeof connections.list = (page) =>
        profiles.keys({ id: ada.id, ...page }) as unknown as ReturnType<typeof connections.list>
      const lists = [guestCodes.list, verificationLog.list, keys]
      for (const list of [connections.list, ...lists])
        for (const cursor of ['', '*', 'a', 'Y29uX1x4', `${next_cursor}A`])
          await fails('bad_request', list({ cursor }))
      for (const list of lists) await fails('bad_request', list({ cursor: next_cursor! }))
      for (const limit of [0, 201, 1.5])
        await fails('validation_failed', connections.list({ limit }))
    })

    test('a malformed id is no resource', async () => {
      const { account, entry, id: account_id } = await enrol(server)
      const real = newId('con_', Date.now())
      for (const id of ['x', 'con_', `${real}0`, real.toUpperCase(), `${real.slice(0, -1)}\0`]) {
        const calls: Call[] = [
          (of) => of.connections.read({ id }),
          (of) => of.connections.update({ id, body: { name: 'x' } }),
          (of) => of.connections.favorite({ id, body: {} }),
          (of) => of.connections.delete({ id }),
          (of) => of.members.add({ id, body: { user_id: account_id } }),
          (of) => of.members.remove({ id, mid: account_id }),
          (of) => of.invitations.approve({ id }),
          (of) => of.invitations.decline({ id }),
          (of) => of.invitations.withdraw({ id }),
          (of) => of.rosters.read({ connection: id }),
          (of) => of.rosters.append({ connection: id, body: { entry, envelopes: [] } }),
          (of) => of.envelopes.read({ connection: id }),
          (of) => of.envelopes.add({ connection: id, body: { envelopes: [entry] } }),
          (of) => of.guestCodes.delete({ id }),
          (of) => of.keyLogs.read({ account: id }),
          (of) => of.profiles.keys({ id }),
          (of) => of.profiles.read({ id }),
          (of) => of.devices.delete({ id }),
        ]
        for (const call of calls) await fails('not_found', call(account))
      }
    })

    test('a member that no row knows is refused', async () => {
      const ada = await enrol(server)
      const { id } = await connect(ada)
      const extra = { name: 'x', owner: 'eve' } as { name: string }
      await isInvalid('owner', 'never', ada.account.connections.update({ id, body: extra }))
      await isInvalid('name', '', ada.account.connections.update({ id, body: { name: '' } }))
    })

    test('one account sees and changes nothing of another', async () => {
      const [ada, eve] = [await enrol(server), await enrol(server)]
      const connection = await connect(ada)
      const guest = await newGuest(ada.account)
      const { id } = connection
      const mail = { body: { email: newAddress() } }
      const asked = await ada.account.members.add({ id, ...mail })
      const rotation = (await changeBy(ada, id, { op: 'rotate' })).body
      const before = await ada.account.connections.read({ id })
      const calls: Call[] = [
        (of) => of.connections.read({ id }),
        (of) => of.connections.update({ id, body: { name: 'x' } }),
        (of) => of.connections.update({ id, body: {} }),
        (of) => of.connections.favorite({ id, body: {} }),
        (of) => of.connections.delete({ id }),
        (of) => of.members.add({ id, ...mail }),
        (of) => of.members.remove({ id, mid: ada.id }),
        (of) => of.invitations.approve({ id: asked.id }),
        (of) => of.invitations.decline({ id: asked.id }),
        (of) => of.invitations.withdraw({ id: asked.id }),
        (of) => of.rosters.read({ connection: id }),
        (of) => of.rosters.append({ connection: id, body: rotation }),
        (of) => of.envelopes.read({ connection: id }),
        (of) => of.envelopes.add({ connection: id, body: { envelopes: rotation.envelopes } }),
        (of) => of.guestCodes.delete({ id: guest.id }),
      ]
      for (const call of calls) await fails('not_found', call(eve.account))
      const { connections, guestCodes, verificationLog } = eve.account
      for (const list of [connections.list, guestCodes.list, verificationLog.list])
        assert.deepEqual(await list({}), { items: [], next_cursor: null })
      assert.deepEqual(await eve.account.invitations.list({}), { received: [], sent: [] })
      assert.deepEqual(await eve.account.duties.read({}), { joins: [], unsealed: [] })
      assert.deepEqual((await ada.account.connections.list({})).items, [before])
      assert.deepEqual((await ada.account.guestCodes.list({})).items, [guest])
    })
  })
}

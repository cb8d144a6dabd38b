/** How rosters grow at an account server, the envelopes that come with them, and what it asks devices to do. For every engine. */
import assert from 'node:assert/strict'
import { after as afterAll, before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { newDeviceKeys } from '../../src/crypto/device-keys.ts'
import { newId } from '../../src/crypto/id.ts'
import { hashOf } from '../../src/crypto/jws.ts'
import { signJws } from '../../src/crypto/jws-signature.ts'
import { addFirst, signerAt, verifyKeyLog } from '../../src/crypto/key-log.ts'
import { verifyRoster } from '../../src/crypto/roster.ts'
import type { Details } from '../../src/errors.ts'
import {
  after,
  approved,
  changeBy,
  connected,
  entryBy,
  envelopeBy,
  envelopesBy,
  knownBy,
  make,
  signerOf,
  takeIn,
  type Actor,
  type Change,
} from './connecting.ts'
import { fails } from './connections.suite.ts'
import { openServiceDatabase, type ServiceDatabase } from './database.ts'
import {
  additionBy,
  approve,
  connect,
  enrol,
  enrolByMail,
  join,
  logOf,
  mailedCode,
  newAddress,
  opening,
  resetOf,
  revocationBy,
  tampered,
  type Person,
  type Server,
} from './person.ts'
import { openSubject, type LocalSubject, type Place } from './subject.ts'

interface Fault extends Error {
  readonly code?: unknown
  readonly details?: Details
}

const headOf = (entry: string) => encodeBase64url(hashOf(entry))

/** Rejects because another entry was first, and says which. */
const tooLate = (promise: Promise<unknown>, head: string) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, 'conflict', error.message)
    assert.equal(error.details?.head, head)
    return true
  })

/** Rejects because of this member of the body, for this reason. */
const isInvalid = (path: string, reason: string, promise: Promise<unknown>, what: string) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, 'validation_failed', `${what}: ${error.message}`)
    const [issue] = error.details?.issues ?? []
    assert.equal(issue?.path, path, what)
    assert.match(issue.message, new RegExp(`^${reason}`), what)
    return true
  })

const payloadOf = (jws: string) =>
  JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>

export function rostersSuite(name: string, { newPlace }: { newPlace: () => Promise<Place> }): void {
  describe(`rosters: ${name}`, () => {
    let place: Place
    let subject: LocalSubject
    let server: Server
    let hand: ServiceDatabase
    before(async () => {
      place = await newPlace()
      subject = await openSubject(place)
      server = subject.server
      hand = await openServiceDatabase(place)
    })
    afterAll(async () => {
      await hand.close()
      await subject.close()
    })

    const read = ({ account }: Person, id: string) => account.connections.read({ id })
    const envelopesOf = async ({ account }: Pick<Actor, 'account'>, connection: string) =>
      (await account.envelopes.read({ connection })).envelopes
    const unsealed = async ({ account }: Pick<Person, 'account'>, id: string) =>
      (await account.duties.read({})).unsealed.find(({ connection }) => connection === id)?.devices

    /** All that is kept of a connection. */
    async function kept(id: string) {
      const of = { lists: [] as unknown[] }
      const tables = ['memberships', 'roster_entries', 'envelopes', 'invitations'] as const
      for (const table of tables) {
        const rows = await hand.db
          .selectFrom(table)
          .selectAll()
          .where('connection_id', '=', id)
          .execute()
        of.lists.push(rows.map((row) => JSON.stringify(row)).sort())
      }
      return of
    }

    /** The account of a device as the answers see it: a device that waits may ask for less over the wire. */
    const insideOf = ({
      id: account,
      device,
      enrolment,
    }: Pick<Person, 'id' | 'device' | 'enrolment'>) => {
      const { session_id: session } = enrolment.session
      return subject.service.as({ account, device, session, token: null })
    }

    /** A second device of somebody who has a mailbox, approved, or only named in the key log. */
    async function laptopOf(person: Person, email: string, { isApproved = true } = {}) {
      const laptop = await join(server, await mailedCode(server, email))
      if (isApproved) await approve(person, laptop)
      else
        await person.account.keyLogs.append({ body: { entry: await additionBy(person, laptop) } })
      const own = { ...laptop, id: person.id }
      return isApproved ? own : { ...own, account: insideOf(own) }
    }

    describe('append', () => {
      const changes: [
        what: string,
        change: (people: Record<'ada' | 'bob' | 'carl' | 'dora', Person>) => [Person, Change],
        then: { roles: string; epoch: number; holders: string },
      ][] = [
        [
          'add',
          ({ ada, dora }) => [ada, { op: 'add', member: dora.id }],
          { roles: 'Ada owner, Bob member, Carl member, Dora member', epoch: 1, holders: 'ABCD' },
        ],
        [
          'remove',
          ({ ada, bob }) => [ada, { op: 'remove', member: bob.id }],
          { roles: 'Ada owner, Carl member', epoch: 2, holders: 'AC' },
        ],
        [
          'role',
          ({ ada, bob }) => [ada, { op: 'role', member: bob.id, role: 'owner' }],
          { roles: 'Ada owner, Bob owner, Carl member', epoch: 1, holders: 'ABC' },
        ],
        [
          'leave',
          ({ bob }) => [bob, { op: 'leave' }],
          { roles: 'Ada owner, Carl member', epoch: 1, holders: 'AC' },
        ],
        [
          'rotate',
          ({ carl }) => [carl, { op: 'rotate' }],
          { roles: 'Ada owner, Bob member, Carl member', epoch: 2, holders: 'ABC' },
        ],
      ]
      for (const [what, change, then] of changes)
        test(`${what}: its effects are kept with it, once`, async () => {
          const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
          const [ada, bob, carl] = people
          const dora = await enrol(server, 'Dora')
          await approved(ada, id, dora)
          const all = { ada, bob, carl, dora }
          const before = new Map<Person, string>()
          for (const person of people) before.set(person, (await read(person, id)).updated_at)
          const [by, wanted] = change(all)
          const { body, known } = await changeBy(by, id, wanted)
          const place = { seq: known.roster.seq + 1, head: headOf(body.entry) }
          const append = () => by.account.rosters.append({ connection: id, body })
          assert.deepEqual(await append(), place)
          const now = await kept(id)
          // The answer was lost: also of who is no member any more.
          assert.deepEqual(await append(), place)
          assert.deepEqual(await kept(id), now)

          const witness = by === bob && what === 'leave' ? ada : by
          const { members, epoch } = await read(witness, id)
          const roles = members
            .filter(({ state }) => state === 'active')
            .map(({ display_name, role }) => `${display_name} ${role}`)
          assert.equal(roles.sort().join(', '), then.roles)
          assert.equal(epoch, then.epoch)
          const { entries } = await witness.account.rosters.read({ connection: id })
          assert.deepEqual(entries, [...known.roster.entries, body.entry])
          for (const [i, person] of Object.values(all).entries()) {
            const has = then.holders.includes('ABCD'[i]!)
            if (!has) {
              await fails('not_found', read(person, id))
              continue
            }
            const envelopes = await envelopesOf(person, id)
            assert.deepEqual(
              envelopes.map((envelope) => payloadOf(envelope)['epoch']),
              [then.epoch],
            )
            // The clock stood still, and every device sees that something changed.
            const seen = before.get(person)
            if (seen !== undefined) assert.ok((await read(person, id)).updated_at > seen)
          }
        })

      test('says how long the key logs are that the roster rests on', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const [bob, carl] = [await enrol(server), await enrol(server)]
        const { id } = await connect(ada)
        await takeIn(ada, id, bob)
        await takeIn(ada, id, carl)
        await laptopOf(ada, email)
        await make(ada, id, { op: 'remove', member: bob.id })
        const { key_logs } = await carl.account.rosters.read({ connection: id })
        assert.deepEqual(
          new Map(key_logs.map(({ account, seq }) => [account, seq])),
          new Map([
            [ada.id, 1],
            [bob.id, 0],
            [carl.id, 0],
          ]),
        )
      })

      test('of several at once one wins, and the others are told where the roster is', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
        // Two programs on one file wait for each other by standing still, which two in one process must not.
        const replica = place.url === null ? subject : await openSubject(place, subject.clock)
        for (let round = 0; round < 4; round++) {
          const wanted = await Promise.all(
            people.map(async (by, i) => {
              const { body } = await changeBy(by, id, { op: 'rotate' })
              const { access_token } = by.enrolment.session
              const there =
                i === 1 ? replica.server.account({ access_token, keys: by.keys }) : by.account
              return { there, body }
            }),
          )
          const done = await Promise.allSettled(
            wanted.map(({ there, body }) => there.rosters.append({ connection: id, body })),
          )
          const won = done.findIndex(({ status }) => status === 'fulfilled')
          const head = headOf(wanted[won]!.body.entry)
          for (const [i, one] of done.entries()) {
            if (i === won) continue
            assert.ok(one.status === 'rejected')
            const { code, details } = one.reason as Fault
            assert.deepEqual([code, details?.head], ['conflict', head])
          }
          const { entries } = await people[0].account.rosters.read({ connection: id })
          assert.equal(headOf(entries.at(-1)!), head)
          for (const person of people) {
            const [envelope] = await envelopesOf(person, id)
            assert.equal(payloadOf(envelope!)['sender'], people[won]!.device)
          }
        }
        if (replica !== subject) await replica.close()
      })

      test('after another entry than the newest: a conflict, whatever it says', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada, bob] = people
        const late = await changeBy(bob, id, { op: 'rotate' })
        await make(ada, id, { op: 'rotate' })
        const { entries } = await ada.account.rosters.read({ connection: id })
        const head = headOf(entries.at(-1)!)
        const before = await kept(id)
        const { rosters } = bob.account
        await tooLate(rosters.append({ connection: id, body: late.body }), head)
        const first = { entry: entries[0]!, envelopes: [] }
        await tooLate(rosters.append({ connection: id, body: first }), head)
        assert.deepEqual(await kept(id), before)
      })

      test('an entry that breaks a rule changes nothing', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
        const [ada, bob, carl] = people
        const other = await connected(server, ['Eve', 'Finn'])
        const [eve] = other.people
        const known = await knownBy(ada, id, [eve.id])
        const signer = await signerOf(ada)
        /** As a device signs it that keeps to no rule. */
        const forged = (more: Record<string, unknown>) =>
          signJws(
            'roster+jws',
            ada.kid,
            {
              v: 1,
              connection: id,
              seq: known.roster.seq + 1,
              epoch: known.roster.epoch,
              prev: encodeBase64url(known.roster.head),
              op: 'leave',
              actor: ada.id,
              device: ada.device,
              actor_log: { seq: 0, head: encodeBase64url(signer.actorLog.head) },
              at: signer.at,
              ...more,
            },
            ada.keys.sign.secret,
          )
        const rotation = await entryBy(ada, known, { op: 'rotate' })
        const k_commit = payloadOf(rotation)['k_commit']
        const cases: [what: string, entry: string, reason: string][] = [
          ['an unknown op', forged({ op: 'rename' }), 'bad_op'],
          ['a second open', forged({ op: 'open', epoch: 2, k_commit }), 'bad_op'],
          ['a member that the op knows not', forged({ member: bob.id }), 'superfluous_member'],
          ['an epoch too many', forged({ op: 'rotate', epoch: 3, k_commit }), 'epoch_skip'],
          ['of another connection', forged({ connection: other.id }), 'wrong_connection'],
          ['the last owner leaves', forged({}), 'last_owner'],
          [
            'the removal of nobody',
            forged({ op: 'remove', epoch: 2, member: eve.id, k_commit }),
            'not_member',
          ],
          ['a signature that is none', tampered(rotation), 'bad_signature'],
          ['another’s', await entryBy(bob, known, { op: 'rotate' }), 'unknown_signer'],
          [
            'of another account that the device claims',
            forged({ actor: bob.id, op: 'rotate', epoch: 2, k_commit }),
            'actor_log_mismatch',
          ],
        ]
        const before = await kept(id)
        const epochs = await read(ada, id)
        for (const [what, entry, reason] of cases) {
          const body = { entry, envelopes: [] }
          const append = ada.account.rosters.append({ connection: id, body })
          await isInvalid('entry', reason, append, what)
        }
        // Only owners.
        const removal = signJws(
          'roster+jws',
          carl.kid,
          {
            ...payloadOf(await entryBy(ada, known, { op: 'remove', member: bob.id })),
            actor: carl.id,
            device: carl.device,
            actor_log: {
              seq: 0,
              head: encodeBase64url((await signerOf(carl)).actorLog.head),
            },
          },
          carl.keys.sign.secret,
        )
        const body = { entry: removal, envelopes: [] }
        const append = carl.account.rosters.append({ connection: id, body })
        await isInvalid('entry', 'not_owner', append, 'by a member')
        assert.deepEqual(await kept(id), before)
        assert.deepEqual(await read(ada, id), epochs)
      })

      test('nobody is taken in who has not approved since they left or were removed', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada, bob] = people
        const carl = await enrol(server)
        const refused = () =>
          fails('invalid_state', make(ada, id, { op: 'add', member: carl.id }), 'not_approved')
        await refused()
        await ada.account.members.add({ id, body: { user_id: carl.id } })
        await refused()
        await approved(bob, (await connect(bob)).id, carl)
        await refused()
        await approved(ada, id, carl)
        await make(ada, id, { op: 'add', member: carl.id })
        await make(ada, id, { op: 'remove', member: carl.id })
        const { joins } = await ada.account.duties.read({})
        assert.deepEqual(joins, [])
        await refused()
        await approved(ada, id, carl)
        await make(ada, id, { op: 'add', member: carl.id })
        await make(carl, id, { op: 'leave' })
        await make(bob, id, { op: 'rotate' })
        await refused()
        // Nor does an old answer count again.
        const [old] = (await carl.account.invitations.list({})).received
        const { approve: again } = carl.account.invitations
        await fails('invalid_state', again({ id: old!.id }), 'approved')
        await refused()
        await approved(ada, id, carl)
        await make(ada, id, { op: 'add', member: carl.id })
      })

      test('an approval that nobody acts on for long enough is none', async () => {
        const person = await enrol(server)
        const ada = { ...person, account: insideOf(person) }
        const [bob, { id }] = [await enrol(server), await connect(ada)]
        await approved(ada, id, bob)
        const { clock } = subject
        const at = clock.ms
        clock.ms += 15 * 24 * 3_600_000
        await fails('invalid_state', make(ada, id, { op: 'add', member: bob.id }), 'not_approved')
        clock.ms -= 1
        await make(ada, id, { op: 'add', member: bob.id })
        clock.ms = at
      })

      test('a bad envelope keeps the entry away', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada, bob] = people
        const eve = await enrol(server)
        const known = await knownBy(ada, id)
        const entry = await entryBy(ada, known, { op: 'rotate' })
        const { roster, keyLogs } = after(known, entry)
        const deviceOf = ({ id: account, device }: Person) =>
          signerAt(keyLogs.get(account)!, device, 0)
        const [own, good] = [
          await envelopeBy(ada, roster, deviceOf(ada)),
          await envelopeBy(ada, roster, deviceOf(bob)),
        ]
        const strange = signerAt(verifyKeyLog(eve.id, [eve.entry]), eve.device, 0)
        const to = (other: Parameters<typeof envelopeBy>[3]) =>
          envelopeBy(ada, roster, deviceOf(bob), other)
        const cases: [what: string, envelopes: string[], reason: string][] = [
          ['none for the device that signs', [good], 'Give an envelope'],
          ['none', [], 'Give an envelope'],
          ['a signature that is none', [own, tampered(good)], 'bad_signature'],
          ['for nobody here', [own, await envelopeBy(ada, roster, strange)], 'wrong_recipient'],
          ['two for one device', [own, good, good], 'duplicate_device'],
          [
            'another connection',
            [own, await to({ connection: newId('con_', 1) })],
            'wrong_connection',
          ],
          ['an epoch to come', [own, await to({ epoch: 3 })], 'unknown_epoch'],
          [
            'another opening of it',
            [own, await to({ epochHead: hashOf('x') })],
            'wrong_epoch_head',
          ],
          [
            'of another device',
            [own, await envelopeBy(bob, roster, deviceOf(bob))],
            'unknown_signer',
          ],
          [
            'to another key',
            [own, await to({ recipientSeal: newDeviceKeys().seal.jwk })],
            'wrong_recipient_kid',
          ],
          ['no envelope', [own, entry], 'wrong_typ'],
        ]
        const before = await kept(id)
        for (const [what, envelopes, reason] of cases) {
          const append = ada.account.rosters.append({
            connection: id,
            body: { entry, envelopes },
          })
          await isInvalid('envelopes', reason, append, what)
        }
        assert.deepEqual(await kept(id), before)
        const body = { entry, envelopes: [own, good] }
        await ada.account.rosters.append({ connection: id, body })
      })

      test('whoever leaves seals nothing any more', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [, bob] = people
        const { body, next } = await changeBy(bob, id, { op: 'leave' })
        const envelopes = await envelopesBy(bob, next)
        const append = bob.account.rosters.append({
          connection: id,
          body: { ...body, envelopes },
        })
        await isInvalid('envelopes', 'sender_not_member', append, 'leave')
        assert.equal((await read(bob, id)).members.length, 2)
      })

      test('sealed to a device that was revoked meanwhile: a conflict, to decide anew', async () => {
        const email = newAddress()
        const ada = await enrol(server)
        const bob = await enrolByMail(server, email)
        const { id } = await connect(ada)
        await takeIn(ada, id, bob)
        const laptop = await laptopOf(bob, email)
        const { body, known } = await changeBy(ada, id, { op: 'rotate' })
        assert.equal(body.envelopes.length, 3)
        await bob.account.keyLogs.append({
          body: { entry: await revocationBy(bob, laptop.device) },
        })
        const append = ada.account.rosters.append({ connection: id, body })
        await tooLate(append, encodeBase64url(known.roster.head))
        await make(ada, id, { op: 'rotate' })
      })

      test('a revoked device, and one that waits, add nothing', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const { id } = await connect(ada)
        const laptop = await laptopOf(ada, email)
        const waiting = await laptopOf(ada, email, { isApproved: false })
        const rotations = [
          await changeBy(laptop, id, { op: 'rotate' }),
          await changeBy(waiting, id, { op: 'rotate' }),
        ]
        const revocation = await revocationBy(ada, laptop.device)
        await ada.account.keyLogs.append({ body: { entry: revocation } })
        for (const [device, { body }] of [
          [laptop, rotations[0]!],
          [waiting, rotations[1]!],
        ] as const) {
          const inside = insideOf(device)
          const code = device === laptop ? 'invalid_token' : 'forbidden'
          await fails(code, inside.rosters.append({ connection: id, body }))
          await fails(
            code,
            inside.envelopes.add({ connection: id, body: { envelopes: body.envelopes } }),
          )
        }
        assert.equal((await ada.account.rosters.read({ connection: id })).entries.length, 1)
      })

      test('strangers and former members are told of no connection', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
        const [ada, bob, carl] = people
        const rotation = (await changeBy(carl, id, { op: 'rotate' })).body
        const eve = await enrol(server)
        await make(ada, id, { op: 'remove', member: carl.id })
        await make(bob, id, { op: 'leave' })
        for (const { account } of [bob, carl, eve]) {
          await fails('not_found', account.rosters.append({ connection: id, body: rotation }))
          const { envelopes } = rotation
          await fails('not_found', account.envelopes.add({ connection: id, body: { envelopes } }))
        }
        // Another's entry is no proof of anything.
        const { entries } = await ada.account.rosters.read({ connection: id })
        const body = { entry: entries.at(-2)!, envelopes: [] }
        await fails('not_found', eve.account.rosters.append({ connection: id, body }))
        for (const connection of ['x', newId('con_', Date.now())])
          await fails('not_found', ada.account.rosters.append({ connection, body }))
      })

      test('a machine’s token signs nothing', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada] = people
        const { body } = await changeBy(ada, id, { op: 'rotate' })
        const bearer = { account: ada.id, device: null, session: null, token: newId('tok_', 1) }
        const { rosters, envelopes, duties } = subject.service.as(bearer)
        await fails('no_device', rosters.append({ connection: id, body }))
        await fails(
          'no_device',
          envelopes.add({ connection: id, body: { envelopes: body.envelopes } }),
        )
        assert.deepEqual(await duties.read({}), { joins: [], unsealed: [] })
      })

      test('an epoch whose own maker lacks the secret is not opened', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const laptop = await laptopOf(ada, email)
        const body = await opening(ada, 'Club')
        const { connection, entry } = body
        const log = await logOf(ada)
        const roster = verifyRoster(connection, [entry], new Map([[ada.id, log]]))
        const envelopes = [await envelopeBy(ada, roster, signerAt(log, laptop.device, log.seq))]
        await isInvalid(
          'envelopes',
          'Give an envelope',
          ada.account.rosters.open({ body: { ...body, envelopes } }),
          'for another device alone',
        )
        await fails('not_found', ada.account.connections.read({ id: connection }))
      })
    })

    describe('envelopes', () => {
      /** Ada and Bob, who has a second device without an envelope. */
      async function further({ isApproved = true } = {}) {
        const email = newAddress()
        const ada = await enrol(server, 'Ada')
        const bob = await enrolByMail(server, email, 'Bob')
        const { id } = await connect(ada)
        await takeIn(ada, id, bob)
        const laptop = await laptopOf(bob, email, { isApproved })
        return { id, ada, bob, email, laptop }
      }

      test('a device without one is named to all members, gets one, and is named no more', async () => {
        const { id, ada, bob, laptop } = await further()
        assert.deepEqual(await unsealed(ada, id), [laptop.device])
        assert.deepEqual(await unsealed(bob, id), [laptop.device])
        assert.deepEqual(await envelopesOf(laptop, id), [])
        const known = await knownBy(ada, id)
        const to = signerAt(known.keyLogs.get(bob.id)!, laptop.device, 1)
        const envelope = await envelopeBy(ada, known.roster, to)
        const seen = {
          ada: (await read(ada, id)).updated_at,
          bob: (await read(bob, id)).updated_at,
        }
        const add = (by: Person, envelopes: string[]) =>
          by.account.envelopes.add({ connection: id, body: { envelopes } })
        assert.deepEqual(await add(ada, [envelope]), { stored: 1 })
        assert.deepEqual(await envelopesOf(laptop, id), [envelope])
        assert.equal(await unsealed(ada, id), undefined)
        // Whoever it is for is to fetch it, and nobody else.
        assert.ok((await read(bob, id)).updated_at > seen.bob)
        assert.equal((await read(ada, id)).updated_at, seen.ada)
        // The first stays.
        const another = await envelopeBy(bob, known.roster, to)
        assert.deepEqual(await add(bob, [another]), { stored: 0 })
        assert.deepEqual(await add(ada, [envelope]), { stored: 0 })
        assert.deepEqual(await envelopesOf(laptop, id), [envelope])
        // The next epoch brings a good one, whatever that was.
        await make(bob, id, { op: 'rotate' })
        assert.equal(payloadOf((await envelopesOf(laptop, id))[0]!)['sender'], bob.device)
      })

      test('a device between its two word checks reads none before the second', async () => {
        const { id, ada, bob, laptop } = await further({ isApproved: false })
        assert.equal(await unsealed(ada, id), undefined)
        // The key log names it, and nobody else knows how far it is.
        await make(ada, id, { op: 'rotate' })
        assert.deepEqual(await envelopesOf(laptop, id), [])
        const { head } = await logOf(bob)
        await laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
        assert.equal((await envelopesOf(laptop, id)).length, 1)
      })

      test('what is not for the current epoch or its members is refused', async () => {
        const { id, ada, bob, laptop } = await further()
        const eve = await enrol(server)
        const known = await knownBy(ada, id)
        const { roster, keyLogs } = known
        const to = signerAt(keyLogs.get(bob.id)!, laptop.device, 1)
        const strange = signerAt(verifyKeyLog(eve.id, [eve.entry]), eve.device, 0)
        const good = await envelopeBy(ada, roster, to)
        const cases: [what: string, envelopes: string[], reason: string][] = [
          ['for a stranger', [good, await envelopeBy(ada, roster, strange)], 'wrong_recipient'],
          ['of another device', [good, await envelopeBy(bob, roster, to)], 'unknown_signer'],
          ['an epoch to come', [await envelopeBy(ada, roster, to, { epoch: 2 })], 'unknown_epoch'],
          ['no signature', [tampered(good)], 'bad_signature'],
        ]
        const before = await kept(id)
        const add = (envelopes: string[]) =>
          ada.account.envelopes.add({ connection: id, body: { envelopes } })
        for (const [what, envelopes, reason] of cases)
          await isInvalid('envelopes', reason, add(envelopes), what)
        await isInvalid('envelopes', '', add([]), 'none')
        assert.deepEqual(await kept(id), before)
        // Decided on what was true then.
        await make(bob, id, { op: 'rotate' })
        const { entries } = await ada.account.rosters.read({ connection: id })
        await tooLate(add([good]), headOf(entries.at(-1)!))
      })

      test('those of a device that is revoked go with it, so that others seal anew', async () => {
        const { id, ada, bob, email, laptop } = await further()
        const known = await knownBy(ada, id)
        const to = signerAt(known.keyLogs.get(bob.id)!, laptop.device, 1)
        const envelopes = [await envelopeBy(ada, known.roster, to)]
        await ada.account.envelopes.add({ connection: id, body: { envelopes } })
        const third = await laptopOf(bob, email)
        const { keyLogs, roster } = await knownBy(bob, id)
        const sealed = await envelopeBy(
          laptop,
          roster,
          signerAt(keyLogs.get(bob.id)!, third.device, 2),
        )
        await laptop.account.envelopes.add({ connection: id, body: { envelopes: [sealed] } })
        assert.equal(await unsealed(ada, id), undefined)
        const entry = await revocationBy(bob, laptop.device)
        await bob.account.keyLogs.append({ body: { entry } })
        assert.deepEqual(await unsealed(ada, id), [third.device])
        assert.deepEqual(await envelopesOf(third, id), [])
      })
    })

    describe('duties', () => {
      test('joins are for owners, and only while somebody waits', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada, bob] = people
        const email = newAddress()
        const [carl, dora] = [await enrol(server), await enrolByMail(server, email)]
        const joins = async ({ account }: Person) => (await account.duties.read({})).joins
        const asked = await ada.account.members.add({ id, body: { email } })
        await ada.account.members.add({ id, body: { user_id: carl.id } })
        assert.deepEqual(await joins(ada), [])
        await dora.account.invitations.approve({ id: asked.id })
        await approved(ada, id, carl)
        const wanted = [
          { connection: id, account: carl.id, email: null },
          { connection: id, account: dora.id, email },
        ]
        const byAccount = (list: Awaited<ReturnType<typeof joins>>) =>
          list.toSorted((a, b) => (a.account < b.account ? -1 : 1))
        assert.deepEqual(byAccount(await joins(ada)), wanted)
        for (const other of [bob, carl, dora]) assert.deepEqual(await joins(other), [])
        await make(ada, id, { op: 'role', member: bob.id, role: 'owner' })
        assert.deepEqual(byAccount(await joins(bob)), wanted)
        await make(bob, id, { op: 'add', member: carl.id })
        assert.deepEqual(await joins(ada), [wanted[1]])
        await make(ada, id, { op: 'add', member: dora.id })
        assert.deepEqual(await joins(ada), [])
      })

      test('a thousand connections at once, and what is left the next time', async () => {
        const ada = await enrol(server)
        const ids = Array.from({ length: 1100 }, (_, i) => newId('con_', 1000 + i)).sort()
        const row = { role: 'owner' as const, name: 'x', favorite: 0 as const, updated_at: 1 }
        for (let at = 0; at < ids.length; at += 100) {
          const some = ids.slice(at, at + 100)
          await hand.db
            .insertInto('connections')
            .values(some.map((id) => ({ id, epoch: 1, created_at: 1 })))
            .execute()
          await hand.db
            .insertInto('memberships')
            .values(some.map((id) => ({ ...row, connection_id: id, account_id: ada.id })))
            .execute()
        }
        const devices = [ada.device]
        const named = async () => (await ada.account.duties.read({})).unsealed
        assert.deepEqual(
          await named(),
          ids.slice(0, 1000).map((connection) => ({ connection, devices })),
        )
        await hand.db
          .insertInto('envelopes')
          .values(
            ids.slice(0, 1000).map((connection_id) => {
              return { connection_id, epoch: 1, recipient: ada.device, envelope: '', sender: null }
            }),
          )
          .execute()
        assert.deepEqual(
          await named(),
          ids.slice(1000).map((connection) => ({ connection, devices })),
        )
      })
    })

    describe('key logs', () => {
      test('whatever they gain, whoever is connected with the account sees that there is more', async () => {
        const email = newAddress()
        const ada = await enrol(server, 'Ada')
        const bob = await enrolByMail(server, email, 'Bob')
        const stranger = await enrol(server)
        const { id } = await connect(ada)
        await takeIn(ada, id, bob)
        const other = await connect(ada)
        const strange = await connect(stranger)
        let seen = (await read(ada, id)).updated_at
        let laptop: Awaited<ReturnType<typeof laptopOf>> | null = null
        const steps: [string, () => Promise<unknown>][] = [
          ['an addition', async () => (laptop = await laptopOf(bob, email))],
          [
            'a revocation',
            async () => {
              const entry = await revocationBy(bob, laptop!.device)
              await bob.account.keyLogs.append({ body: { entry } })
            },
          ],
          ['a reset', async () => resetOf(server, bob.id, await mailedCode(server, email))],
        ]
        for (const [what, step] of steps) {
          await step()
          const now = (await read(ada, id)).updated_at
          assert.ok(now > seen, what)
          seen = now
        }
        assert.deepEqual(await read(ada, other.id), other)
        assert.deepEqual(await read(stranger, strange.id), strange)
      })

      type Ending = (ada: Person, device: string) => Promise<() => Promise<unknown>>
      const endings: [what: string, Ending][] = [
        [
          'a revocation',
          async (ada, device) => {
            const entry = await revocationBy(ada, device)
            return () => ada.account.keyLogs.append({ body: { entry } })
          },
        ],
        [
          'a reset',
          async ({ id, account }) => {
            const code = await server.newEnrolmentCode(id)
            const { entries } = await account.keyLogs.read({ account: id })
            return () => resetOf(server, id, code, entries)
          },
        ],
      ]

      for (const [what, ending] of endings)
        test(`${what} and what is written in the same connections meanwhile wait for each other`, async () => {
          // It begins at once, or when so many were answered.
          for (const answered of [0, 1, 4]) {
            const [ada, bob] = [await enrol(server), await enrol(server)]
            const laptop = await join(server, await server.newEnrolmentCode(ada.id))
            await approve(ada, laptop)
            const changes: (() => Promise<unknown>)[] = []
            for (let i = 0; i < 12; i++) {
              const { id: connection } = await connect(ada)
              await takeIn(ada, connection, bob)
              const actor = i % 2 === 0 ? { ...laptop, id: ada.id } : bob
              const { body } = await changeBy(actor, connection, { op: 'rotate' })
              changes.push(() => actor.account.rosters.append({ connection, body }))
            }
            const end = await ending(ada, laptop.device)
            const begun = Promise.withResolvers<void>()
            let left = answered
            const told = changes.map(async (change) => {
              const code = await change().then(
                () => 'kept',
                (error: Fault) => error.code,
              )
              if (--left === 0) begun.resolve()
              return code
            })
            if (answered === 0) begun.resolve()
            await begun.promise
            await end()
            for (const code of await Promise.all(told))
              assert.match(String(code), /^(kept|conflict|invalid_token)$/)
          }
        })

      test('a reset account gets nothing until it is taken in anew', async () => {
        const email = newAddress()
        const ada = await enrol(server, 'Ada')
        const bob = await enrolByMail(server, email, 'Bob')
        const { id } = await connect(ada)
        await takeIn(ada, id, bob)
        const again = await resetOf(server, bob.id, await mailedCode(server, email))
        assert.deepEqual(await envelopesOf(again, id), [])
        const known = await knownBy(ada, id)
        const to = signerAt(known.keyLogs.get(bob.id)!, again.device, 1)
        const envelopes = [await envelopeBy(ada, known.roster, to)]
        // Whoever made the entry knew no such device.
        await assert.rejects(ada.account.envelopes.add({ connection: id, body: { envelopes } }), {
          code: 'conflict',
        })
        const forced = await envelopeBy(again, known.roster, to)
        await isInvalid(
          'envelopes',
          'sender_not_member',
          again.account.envelopes.add({ connection: id, body: { envelopes: [forced] } }),
          'by itself',
        )
        await make(ada, id, { op: 'remove', member: bob.id })
        await make(ada, id, { op: 'add', member: bob.id })
        assert.equal((await envelopesOf(again, id)).length, 1)
        // That served for these keys: removed with them, one is asked again.
        await make(ada, id, { op: 'remove', member: bob.id })
        await fails('invalid_state', make(ada, id, { op: 'add', member: bob.id }), 'not_approved')
      })
    })

    test('two hundred members: one more is refused, and the secret changes for all at once', async () => {
      const person = await enrol(server)
      const ada = { ...person, account: insideOf(person) }
      const { id } = await connect(ada)
      const keys = newDeviceKeys()
      const makers = Array.from({ length: 200 }, () => {
        const [account, device] = [newId('acc_', 1), newId('dev_', 1)]
        return { id: account, device, entry: addFirst({ account, device, keys, at: 1 }) }
      })
      const rows = makers.map(({ id: account, device, entry }) => ({
        account: {
          id: account,
          kind: 'person' as const,
          display_name: 'M',
          handle: null,
          headline: null,
        },
        device: {
          id: device,
          account_id: account,
          name: 'desk',
          platform: 'linux' as const,
          keys: null,
          auth_kid: '',
          created_at: 1,
          approved_at: 1,
          revoked_at: null,
        },
        log: { account_id: account, seq: 0, entry, stored_at: 1 },
        invitation: {
          id: newId('inv_', 1),
          connection_id: id,
          connection_name: 'x',
          from_account: ada.id,
          to_account: account,
          to_email: null,
          state: 'approved' as const,
          consent: 1 as const,
          created_at: 1,
          expires_at: subject.clock.ms,
        },
      }))
      const { db } = hand
      await db
        .insertInto('accounts')
        .values(rows.map((row) => row.account))
        .execute()
      await db
        .insertInto('devices')
        .values(rows.map((row) => row.device))
        .execute()
      await db
        .insertInto('key_log_entries')
        .values(rows.map((row) => row.log))
        .execute()
      await db
        .insertInto('invitations')
        .values(rows.map((row) => row.invitation))
        .execute()
      const { entries } = await ada.account.rosters.read({ connection: id })
      const signer = await signerOf(ada)
      const taken = [...entries]
      const addition = ({ id: member, entry }: (typeof makers)[number]) =>
        signJws(
          'roster+jws',
          ada.kid,
          {
            v: 1,
            connection: id,
            seq: taken.length,
            epoch: 1,
            prev: headOf(taken.at(-1)!),
            op: 'add',
            member,
            member_log: { seq: 0, head: headOf(entry) },
            role: 'member',
            actor: ada.id,
            device: ada.device,
            actor_log: { seq: 0, head: encodeBase64url(signer.actorLog.head) },
            at: signer.at,
          },
          ada.keys.sign.secret,
        )
      const append = (entry: string, envelopes: string[] = []) =>
        ada.account.rosters.append({ connection: id, body: { entry, envelopes } })
      for (const maker of makers.slice(0, 3)) {
        const entry = addition(maker)
        await append(entry)
        taken.push(entry)
      }
      // The next ones by hand: what is judged is the two hundredth and the one after.
      const first = taken.length
      for (const maker of makers.slice(3, 198)) taken.push(addition(maker))
      await db
        .insertInto('roster_entries')
        .values(
          taken.slice(first).map((entry, i) => ({ connection_id: id, seq: first + i, entry })),
        )
        .execute()
      const others = makers.slice(3, 198).map(({ id: account }) => account)
      await db
        .insertInto('memberships')
        .values(
          others.map((account_id) => {
            const row = { role: 'member' as const, name: 'x', favorite: 0 as const, updated_at: 1 }
            return { ...row, account_id, connection_id: id }
          }),
        )
        .execute()
      await db
        .updateTable('invitations')
        .set({ consent: 2 })
        .where('to_account', 'in', others)
        .execute()
      const last = addition(makers[198]!)
      await append(last)
      taken.push(last)
      await isInvalid('entry', 'too_many_members', append(addition(makers[199]!)), 'the next')
      const [unsealedNow] = (await ada.account.duties.read({})).unsealed
      assert.equal(unsealedNow?.devices.length, 199)
      const { body } = await changeBy(ada, id, { op: 'rotate' })
      assert.equal(body.envelopes.length, 200)
      await append(body.entry, body.envelopes)
      assert.deepEqual((await ada.account.duties.read({})).unsealed, [])
      const { members, epoch } = await read(ada, id)
      assert.deepEqual([members.filter(({ state }) => state === 'active').length, epoch], [200, 2])
    })
  })
}

/**
 * How rosters grow at an account server, entry by entry, with the suites that belong to it. For
 * every engine.
 */
import { signConsent } from '../../../src/crypto/logs/consent.ts'
import { thumbprint } from '../../../src/crypto/jose/jwk.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { readEnvelope } from '../../../src/crypto/envelope-form.ts'
import { firstOf, newDeviceKeys } from '../../crypto/keys.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { signJws } from '../../../src/crypto/jose/jws-signature.ts'
import {
  approved,
  changeBy,
  connected,
  make,
  signerOf,
  joinMember,
  type Change,
} from './connecting.ts'
import { dutiesSuite } from './duties.suite.ts'
import { replacementsSuite } from './replacements.suite.ts'
import type { AppError } from '../../../src/errors.ts'
import { connect, enrol, enrolByMail, newAddress, type Person } from '../person.ts'
import { rosterEnvelopesSuite } from './roster-envelopes.suite.ts'
import { rosterLimitsSuite } from './roster-limits.suite.ts'
import { rosterKeyLogsSuite } from './roster-key-logs.suite.ts'
import { rosterRefusalsSuite } from './roster-refusals.suite.ts'
import { signedProfilesSuite } from './signed-profiles.suite.ts'
import {
  envelopesOf,
  headOf,
  isInvalid,
  openRosters,
  read,
  tooLate,
  type Rosters,
} from './rosters-subject.ts'
import { openSubject, type Place } from '../subject.ts'
import { rejects } from '../../rejects.ts'

export function rostersSuite(name: string, { newPlace }: { newPlace: () => Promise<Place> }): void {
  describe(`rosters: ${name}`, () => {
    let rosters: Rosters
    let { place, subject, server, hand, stored, insideOf, laptopOf } = {} as Rosters
    before(async () => {
      rosters = await openRosters(newPlace)
      ;({ place, subject, server, hand, stored, insideOf, laptopOf } = rosters)
    })
    after(() => rosters.close())

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
        test(`${what}: the entry and its effects are stored together, once`, async () => {
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
          const now = await stored(id)
          // The device repeats the request because the answer was lost; this also works for a
          // former member.
          assert.deepEqual(await append(), place)
          assert.deepEqual(await stored(id), now)

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
              await rejects('not_found', read(person, id))
              continue
            }
            const envelopes = await envelopesOf(person, id)
            assert.deepEqual(
              envelopes.map((envelope) => readEnvelope(envelope).epoch),
              [then.epoch],
            )
            // The clock stood still, and every device sees a change nevertheless.
            const seen = before.get(person)
            if (seen !== undefined) assert.ok((await read(person, id)).updated_at > seen)
          }
        })

      test('reading a roster returns the lengths of its key logs', async () => {
        const email = newAddress()
        const ada = await enrolByMail(server, email)
        const [bob, carl] = [await enrol(server), await enrol(server)]
        const { id } = await connect(ada)
        await joinMember(ada, id, bob)
        await joinMember(ada, id, carl)
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

      test('of several concurrent entries one succeeds, and the others get the current roster head', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
        // Two processes on one SQLite file wait for each other synchronously, which two servers
        // in one process must not do.
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
            const { code, details } = one.reason as AppError
            assert.deepEqual([code, details.head], ['conflict', head])
          }
          const { entries } = await people[0].account.rosters.read({ connection: id })
          assert.equal(headOf(entries.at(-1)!), head)
          for (const person of people) {
            const [envelope] = await envelopesOf(person, id)
            assert.equal(readEnvelope(envelope!).epoch_head, head)
          }
        }
        if (replica !== subject) await replica.close()
      })

      test('an entry that does not follow the newest is a conflict, also if it is invalid', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        const [ada, bob] = people
        const late = await changeBy(bob, id, { op: 'rotate' })
        await make(ada, id, { op: 'rotate' })
        const { entries } = await ada.account.rosters.read({ connection: id })
        const head = headOf(entries.at(-1)!)
        const before = await stored(id)
        const { rosters } = bob.account
        await tooLate(rosters.append({ connection: id, body: late.body }), head)
        const first = { entry: entries[0]!, envelopes: [] }
        await tooLate(rosters.append({ connection: id, body: first }), head)
        assert.deepEqual(await stored(id), before)
      })
    })

    rosterRefusalsSuite(() => rosters)
    rosterEnvelopesSuite(() => rosters)
    dutiesSuite(() => rosters)
    replacementsSuite(() => rosters)
    rosterKeyLogsSuite(() => rosters)
    rosterLimitsSuite(() => rosters)
    signedProfilesSuite(() => rosters)

    test('200 members: another one is rejected, and a rotation reaches all of them', async () => {
      const person = await enrol(server)
      const ada = { ...person, account: insideOf(person) }
      const { id } = await connect(ada)
      const keys = newDeviceKeys()
      const makers = Array.from({ length: 200 }, () => {
        const device = newId('dev_', 1)
        const { account: id, entry } = firstOf(device, keys)
        return { id, device, entry }
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
          seal_key: '',
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
          consent_jws: null,
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
      const consentOf = ({ id: account, device, entry }: (typeof makers)[number]) =>
        signConsent({
          connection: id,
          inviter: ada.id,
          account,
          device,
          keyLog: { seq: 0, head: entryHash(entry) },
          rosterHead: entryHash(taken.at(-1)!),
          at: 1,
          kid: thumbprint(keys.sign.jwk),
          seed: keys.sign.secret,
        })
      const addition = (maker: (typeof makers)[number]) =>
        signJws(
          'roster+jws',
          ada.kid,
          {
            v: 2,
            connection: id,
            seq: taken.length,
            epoch: 1,
            prev: headOf(taken.at(-1)!),
            op: 'add',
            member: maker.id,
            member_log: { seq: 0, head: headOf(maker.entry) },
            role: 'member',
            consent: consentOf(maker),
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
      // The next entries are inserted directly: the test is about the two hundredth and the one
      // after it.
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

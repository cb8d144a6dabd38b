/**
 * Which accounts may have organisations and machine accounts. The account that a key identifies.
 * On any engine.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { ENDPOINT, as, atOnce, newKey, openTwo, refusal, type Subject } from './machines-subject.ts'
import type { Engine } from './engines.ts'
import { rejects } from '../rejects.ts'

const START = Date.UTC(2026, 0, 1)

/**
 * Points that verify signatures without a private key, or that have a second encoding.
 * @see RFC 8032 section 5.1.3
 */
const BAD_POINTS: Readonly<Record<string, readonly number[]>> = {
  'the neutral element': [1, ...Array<number>(31).fill(0)],
  'a point of order 4': Array<number>(32).fill(0),
  'a non-canonical encoding': [0xee, ...Array<number>(30).fill(0xff), 0x7f],
  'not a point': [2, ...Array<number>(31).fill(0)],
  'too short': Array<number>(31).fill(9),
}

export function machinesSuite(name: string, engine: Engine): void {
  describe(`machines: ${name}`, () => {
    let here: Subject
    let replica: Subject
    before(async () => {
      ;[here, replica] = await openTwo(engine, START)
    })
    beforeEach(() => {
      here.clock.ms = START
    })
    after(() => Promise.all([here.close(), replica.close()]))

    const create = (
      by: string,
      organisation_id: string,
      of: { key?: object; name?: string } = {},
    ) =>
      here.machines.create(
        {
          body: {
            organisation_id,
            name: of.name ?? 'Backup',
            key: (of.key ?? newKey().jwk) as ReturnType<typeof newKey>['jwk'],
          },
        },
        as(by),
      )
    const counted = async (table: 'accounts' | 'machines' | 'organisation_members') =>
      (await here.db.selectFrom(table).selectAll().execute()).length

    describe('organisations', () => {
      test('a person creates one and owns it', async () => {
        const ada = await here.newPerson()
        const made = await here.organisations.create({ body: { name: 'Acme' } }, as(ada))
        assert.match(made.id, /^org_/)
        assert.deepEqual(made, { id: made.id, name: 'Acme', role: 'owner' })
        // An active owner may continue at once.
        await create(ada, made.id)
      })

      test('a machine account cannot create one', async () => {
        const { account } = await here.newMachine()
        const { error } = await refusal(
          here.organisations.create({ body: { name: 'Skynet' } }, as(account)),
        )
        assert.equal(error, 'forbidden')
        assert.doesNotMatch(await here.everything(), /Skynet/)
      })
    })

    describe('creating', () => {
      test('the owner gets the account and the audience of its key', async () => {
        const { owner, organisation } = await here.newOwner()
        const made = await create(owner, organisation, { name: 'Build server' })
        assert.deepEqual(made, {
          machine_id: made.machine_id,
          organisation_id: organisation,
          name: 'Build server',
          token_endpoint: ENDPOINT,
        })
        const account = await here.db
          .selectFrom('accounts')
          .innerJoin('organisation_members', 'account_id', 'accounts.id')
          .select(['kind', 'display_name', 'organisation_id', 'role', 'state'])
          .where('accounts.id', '=', made.machine_id)
          .executeTakeFirstOrThrow()
        assert.deepEqual(
          { ...account },
          {
            kind: 'machine',
            display_name: 'Build server',
            organisation_id: organisation,
            role: 'member',
            state: 'active',
          },
        )
      })

      for (const [role, state, expected] of [
        ['owner', 'active', null],
        ['admin', 'active', null],
        ['member', 'active', 'forbidden'],
        ['owner', 'suspended', 'forbidden'],
        ['admin', 'suspended', 'forbidden'],
        ['admin', 'invited', 'forbidden'],
      ] as const)
        test(`${role}, ${state}: ${expected ?? 'may'}`, async () => {
          const { organisation } = await here.newOwner()
          const member = await here.newMember(organisation, { role, state })
          const call = create(member, organisation)
          if (expected === null) await call
          else await rejects(expected, call)
        })

      test('the machine itself, a plain member, cannot create another', async () => {
        const { account, organisation } = await here.newMachine()
        await rejects('forbidden', create(account, organisation))
      })

      test('a stranger gets not_found for the organisation', async () => {
        const { organisation } = await here.newOwner()
        const { owner: stranger } = await here.newOwner()
        const unknown = newId('org_', START)
        const answers = await Promise.all(
          [organisation, unknown].map((id) => refusal(create(stranger, id))),
        )
        assert.equal(answers[0]?.error, 'not_found')
        assert.deepEqual(answers[0], answers[1])
      })

      test('an invalid key is rejected, and nothing is created', async () => {
        const { owner, organisation } = await here.newOwner()
        const accounts = await counted('accounts')
        const { sign } = newDeviceKeys()
        const bad = Object.entries(BAD_POINTS).map(([why, bytes]): [string, object] => [
          why,
          { ...sign.jwk, x: encodeBase64url(Uint8Array.from(bytes)) },
        ])
        bad.push(
          ['of another curve', { ...sign.jwk, crv: 'X25519' }],
          ['private', { ...sign.jwk, d: encodeBase64url(sign.secret) }],
          ['respelt', { ...sign.jwk, x: `${sign.jwk.x}=` }],
        )
        for (const [why, key] of bad) {
          const { error, issues } = await refusal(create(owner, organisation, { key }))
          assert.deepEqual([error, issues?.[0]?.path], ['validation_failed', 'key'], why)
        }
        assert.equal(await counted('accounts'), accounts)
      })

      test('a key belongs to one machine: the same request returns it, others are a conflict', async () => {
        const { owner, organisation } = await here.newOwner()
        const key = newKey().jwk
        const first = await create(owner, organisation, { key })
        const counts = () =>
          Promise.all((['accounts', 'machines', 'organisation_members'] as const).map(counted))
        const before = await counts()
        const admin = await here.newMember(organisation, { role: 'admin', state: 'active' })
        assert.deepEqual(await create(owner, organisation, { key }), first)
        assert.deepEqual(await create(admin, organisation, { key }), first)
        const other = await here.newOwner()
        for (const call of [
          () => create(owner, organisation, { key, name: 'Restore' }),
          () => create(other.owner, other.organisation, { key }),
        ])
          await rejects('conflict', call())
        const [accounts = 0, machines = 0, members = 0] = before
        // The admin and the other owner, each with a membership.
        assert.deepEqual(await counts(), [accounts + 2, machines, members + 2])
      })

      test('eight concurrent requests create one machine', async () => {
        const { owner, organisation } = await here.newOwner()
        const [accounts, machines] = [await counted('accounts'), await counted('machines')]
        const input = { body: { organisation_id: organisation, name: 'Backup', key: newKey().jwk } }
        const made = await Promise.all(
          atOnce(engine, here, replica).map((server) => server.machines.create(input, as(owner))),
        )
        assert.equal(new Set(made.map((one) => one.machine_id)).size, 1)
        assert.deepEqual(
          [await counted('accounts'), await counted('machines')],
          [accounts + 1, machines + 1],
        )
      })
    })
  })
}

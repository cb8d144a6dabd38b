/** Effects of members’ key logs on their connections at an account server. For every engine. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { signerAt } from '../../../src/crypto/logs/key-log-ops.ts'
import { changeBy, envelopeFor, knownBy, make, joinMember } from './connecting.ts'
import type { AppError } from '../../../src/errors.ts'
import {
  approve,
  connect,
  enrol,
  enrolByMail,
  join,
  mailedCode,
  newAddress,
  resetOf,
  revocationBy,
  type Person,
} from '../person.ts'
import { envelopesOf, isInvalid, read, type Rosters } from './rosters-subject.ts'
import { rejects } from '../../rejects.ts'

export function rosterKeyLogsSuite(rosters: () => Rosters): void {
  let { server, laptopOf } = {} as Rosters
  before(() => {
    ;({ server, laptopOf } = rosters())
  })

  describe('key logs', () => {
    test('each new entry updates the connections of the account, and no others', async () => {
      const email = newAddress()
      const ada = await enrol(server, 'Ada')
      const bob = await enrolByMail(server, email, 'Bob')
      const stranger = await enrol(server)
      const { id } = await connect(ada)
      await joinMember(ada, id, bob)
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
      test(`${what} and concurrent writes to the same connections run one after another`, async () => {
        // The ending starts at once, or after this many answers.
        for (const answered of [0, 1, 4]) {
          const [ada, bob] = [await enrol(server), await enrol(server)]
          const laptop = await join(server, await server.newEnrolmentCode(ada.id))
          await approve(ada, laptop)
          const changes: (() => Promise<unknown>)[] = []
          for (let i = 0; i < 12; i++) {
            const { id: connection } = await connect(ada)
            await joinMember(ada, connection, bob)
            const actor = i % 2 === 0 ? { ...laptop, id: ada.id } : bob
            const { body } = await changeBy(actor, connection, { op: 'rotate' })
            changes.push(() => actor.account.rosters.append({ connection, body }))
          }
          const end = await ending(ada, laptop.device)
          const begun = Promise.withResolvers<void>()
          let left = answered
          const codes = changes.map(async (change) => {
            const code = await change().then(
              () => 'kept',
              (error: AppError) => error.code,
            )
            if (--left === 0) begun.resolve()
            return code
          })
          if (answered === 0) begun.resolve()
          await begun.promise
          await end()
          for (const code of await Promise.all(codes))
            assert.match(String(code), /^(kept|conflict|invalid_token)$/)
        }
      })

    test('a reset account gets no envelope until an owner confirms the reset', async () => {
      const email = newAddress()
      const ada = await enrol(server, 'Ada')
      const bob = await enrolByMail(server, email, 'Bob')
      const { id } = await connect(ada)
      await joinMember(ada, id, bob)
      const again = await resetOf(server, bob.id, await mailedCode(server, email))
      assert.deepEqual(await envelopesOf(again, id), [])
      const known = await knownBy(ada, id)
      const to = signerAt(known.keyLogs.get(bob.id)!, again.device, 1)
      const envelopes = [await envelopeFor(known.roster, to)]
      // The roster entry refers to a key log without this device.
      await rejects('conflict', ada.account.envelopes.add({ connection: id, body: { envelopes } }))
      const forced = await envelopeFor(known.roster, to)
      await isInvalid(
        'envelopes',
        'sender_not_member',
        again.account.envelopes.add({ connection: id, body: { envelopes: [forced] } }),
        'by itself',
      )
      await make(ada, id, { op: 'confirm', member: bob.id })
      assert.equal((await envelopesOf(again, id)).length, 1)
      await make(ada, id, { op: 'remove', member: bob.id })
      await rejects('invalid_state', make(ada, id, { op: 'add', member: bob.id }), {
        state: 'not_approved',
      })
    })
  })
}

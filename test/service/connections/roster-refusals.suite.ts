/**
 * Entries that an account server does not append to a roster, and accounts that may not append
 * any. For every engine.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import { signJws } from '../../../src/crypto/jose/jws-signature.ts'
import { signerAt } from '../../../src/crypto/logs/key-log-ops.ts'
import { verifyKeyLog } from '../../../src/crypto/logs/key-log.ts'
import { verifyRoster } from '../../../src/crypto/logs/roster.ts'
import { malformedEntries } from '../../crypto/malformed.ts'
import {
  approveInvitation,
  after,
  approved,
  changeBy,
  connected,
  entryBy,
  envelopeFor,
  envelopesFor,
  knownBy,
  make,
  signerOf,
  joinMember,
} from './connecting.ts'
import {
  connect,
  enrol,
  enrolByMail,
  logOf,
  newAddress,
  opening,
  revocationBy,
  tampered,
  type Person,
} from '../person.ts'
import { isInvalid, payloadOf, read, tooLate, type Rosters } from './rosters-subject.ts'
import { rejects } from '../../rejects.ts'

export function rosterRefusalsSuite(rosters: () => Rosters): void {
  let { subject, server, stored, insideOf, laptopOf } = {} as Rosters
  before(() => {
    ;({ subject, server, stored, insideOf, laptopOf } = rosters())
  })

  describe('append', () => {
    test('an entry that breaks a rule is rejected and changes nothing', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
      const [ada, bob, carl] = people
      const other = await connected(server, ['Eve', 'Finn'])
      const [eve] = other.people
      const known = await knownBy(ada, id, [eve.id])
      const signer = await signerOf(ada)
      /** Returns an entry as a device signs it that follows no rule. */
      const forged = (more: Record<string, unknown>) =>
        signJws(
          'roster+jws',
          ada.kid,
          {
            v: 2,
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
        ['a member that the op does not have', forged({ member: bob.id }), 'superfluous_member'],
        ['a skipped epoch', forged({ op: 'rotate', epoch: 3, k_commit }), 'epoch_skip'],
        ['of another connection', forged({ connection: other.id }), 'wrong_connection'],
        ['the last owner leaves', forged({}), 'last_owner'],
        [
          'removing an unknown account',
          forged({ op: 'remove', epoch: 2, member: eve.id, k_commit }),
          'not_member',
        ],
        ['an invalid signature', tampered(rotation), 'bad_signature'],
        ['another’s', await entryBy(bob, known, { op: 'rotate' }), 'unknown_signer'],
        [
          'an entry in the name of another account',
          forged({ actor: bob.id, op: 'rotate', epoch: 2, k_commit }),
          'actor_log_mismatch',
        ],
      ]
      const before = await stored(id)
      const epochs = await read(ada, id)
      for (const [what, entry, reason] of cases) {
        const body = { entry, envelopes: [] }
        const append = ada.account.rosters.append({ connection: id, body })
        await isInvalid('entry', reason, append, what)
      }
      const rest = malformedEntries(rotation, ada.keys.sign.secret)
      for (const [what, entry, reason] of rest) {
        const append = ada.account.rosters.append({
          connection: id,
          body: { entry, envelopes: [] },
        })
        await isInvalid('entry', reason, append, what)
      }
      // Only owners may remove members.
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
      assert.deepEqual(await stored(id), before)
      assert.deepEqual(await read(ada, id), epochs)
    })

    test('an account is added only if it approved after it last left or was removed', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const carl = await enrol(server)
      const refused = () =>
        rejects('invalid_state', make(ada, id, { op: 'add', member: carl.id }), {
          state: 'not_approved',
        })
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
      // An old answer does not count again, either.
      const [old] = (await carl.account.invitations.list({})).received
      await rejects('invalid_state', approveInvitation(carl, old!), { state: 'approved' })
      await refused()
      await approved(ada, id, carl)
      await make(ada, id, { op: 'add', member: carl.id })
    })

    test('an approval expires if no owner acts on it in time', async () => {
      const person = await enrol(server)
      const ada = { ...person, account: insideOf(person) }
      const [bob, { id }] = [await enrol(server), await connect(ada)]
      await approved(ada, id, bob)
      const { clock } = subject
      const at = clock.ms
      clock.ms += 15 * 24 * 3_600_000
      await rejects('invalid_state', make(ada, id, { op: 'add', member: bob.id }), {
        state: 'not_approved',
      })
      clock.ms -= 1
      await make(ada, id, { op: 'add', member: bob.id })
      clock.ms = at
    })

    test('an invalid envelope rejects its entry', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const eve = await enrol(server)
      const known = await knownBy(ada, id)
      const entry = await entryBy(ada, known, { op: 'rotate' })
      const { roster, keyLogs } = after(known, entry)
      const deviceOf = ({ id: account, device }: Person) =>
        signerAt(keyLogs.get(account)!, device, 0)
      const [own, good] = [
        await envelopeFor(roster, deviceOf(ada)),
        await envelopeFor(roster, deviceOf(bob)),
      ]
      const strange = signerAt(verifyKeyLog(eve.id, [eve.entry]), eve.device, 0)
      const to = (other: Parameters<typeof envelopeFor>[2]) =>
        envelopeFor(roster, deviceOf(bob), other)
      const cases: [what: string, envelopes: string[], reason: string][] = [
        ['no envelope for the signing device', [good], 'Give an envelope'],
        ['none', [], 'Give an envelope'],
        ['for a stranger', [own, await envelopeFor(roster, strange)], 'wrong_recipient'],
        ['two for one device', [own, good, good], 'duplicate_device'],
        [
          'another connection',
          [own, await to({ connection: newId('con_', 1) })],
          'wrong_connection',
        ],
        ['a later epoch', [own, await to({ epoch: 3 })], 'unknown_epoch'],
        [
          'another opening of it',
          [own, await to({ epochHead: entryHash('x') })],
          'wrong_epoch_head',
        ],
        ['no envelope', [own, entry], 'bad_json'],
      ]
      const before = await stored(id)
      for (const [what, envelopes, reason] of cases) {
        const append = ada.account.rosters.append({
          connection: id,
          body: { entry, envelopes },
        })
        await isInvalid('envelopes', reason, append, what)
      }
      assert.deepEqual(await stored(id), before)
      const body = { entry, envelopes: [own, good] }
      await ada.account.rosters.append({ connection: id, body })
    })

    test('a leaving member cannot seal envelopes', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [, bob] = people
      const { body, next } = await changeBy(bob, id, { op: 'leave' })
      const envelopes = await envelopesFor(next)
      const append = bob.account.rosters.append({
        connection: id,
        body: { ...body, envelopes },
      })
      await isInvalid('envelopes', 'sender_not_member', append, 'leave')
      assert.equal((await read(bob, id)).members.length, 2)
    })

    test('an entry with an envelope to a device revoked meanwhile is a conflict', async () => {
      const email = newAddress()
      const ada = await enrol(server)
      const bob = await enrolByMail(server, email)
      const { id } = await connect(ada)
      await joinMember(ada, id, bob)
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

    test('revoked and pending devices cannot append', async () => {
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
        await rejects(code, inside.rosters.append({ connection: id, body }))
        await rejects(
          code,
          inside.envelopes.add({ connection: id, body: { envelopes: body.envelopes } }),
        )
      }
      assert.equal((await ada.account.rosters.read({ connection: id })).entries.length, 1)
    })

    test('strangers and former members get not_found', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
      const [ada, bob, carl] = people
      const rotation = (await changeBy(carl, id, { op: 'rotate' })).body
      const eve = await enrol(server)
      await make(ada, id, { op: 'remove', member: carl.id })
      await make(bob, id, { op: 'leave' })
      for (const { account } of [bob, carl, eve]) {
        await rejects('not_found', account.rosters.append({ connection: id, body: rotation }))
        const { envelopes } = rotation
        await rejects('not_found', account.envelopes.add({ connection: id, body: { envelopes } }))
      }
      // An entry that another account made proves nothing.
      const { entries } = await ada.account.rosters.read({ connection: id })
      const body = { entry: entries.at(-2)!, envelopes: [] }
      await rejects('not_found', eve.account.rosters.append({ connection: id, body }))
      for (const connection of ['x', newId('con_', Date.now())])
        await rejects('not_found', ada.account.rosters.append({ connection, body }))
    })

    test('the bearer of a machine token cannot append', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada] = people
      const { body } = await changeBy(ada, id, { op: 'rotate' })
      const bearer = { account: ada.id, device: null, session: null, token: newId('tok_', 1) }
      const { rosters, envelopes, duties } = subject.service.as(bearer)
      await rejects('no_device', rosters.append({ connection: id, body }))
      await rejects(
        'no_device',
        envelopes.add({ connection: id, body: { envelopes: body.envelopes } }),
      )
      assert.deepEqual(await duties.read({}), { joins: [], unsealed: [] })
    })

    test('an epoch without an envelope for its own author is rejected', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const laptop = await laptopOf(ada, email)
      const body = await opening(ada, 'Club')
      const { connection, entry } = body
      const log = await logOf(ada)
      const roster = verifyRoster(connection, [entry], new Map([[ada.id, log]]))
      const envelopes = [await envelopeFor(roster, signerAt(log, laptop.device, log.seq))]
      await isInvalid(
        'envelopes',
        'Give an envelope',
        ada.account.rosters.open({ body: { ...body, envelopes } }),
        'for another device alone',
      )
      await rejects('not_found', ada.account.connections.read({ id: connection }))
    })
  })
}

/**
 * Proofs of possession as a server checks them, in one replica and the next (RFC 9449). Includes
 * parts of sign-in that only direct access to the database, a second server or a header shows.
 * For every engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { AppError } from '../../src/errors.ts'
import { openServiceDatabase, type ServiceDatabase } from './database.ts'
import {
  envelopeTo,
  additionBy,
  approve,
  enrol,
  enrolByMail,
  join,
  logOf,
  mailedCode,
  newAddress,
  resetOf,
  revocationBy,
  type Person,
} from './person.ts'
import type { EngineUnderTest } from './service.suite.ts'
import { openSubject, PUBLIC_URL, type LocalSubject, type Place } from './subject.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'

const MINUTE = 60_000
const PATH = '/api/v1/context'
const GET = { method: 'GET', path: PATH }
const RENEWAL = { method: 'POST', path: '/device/v1/session' }

/**
 * Checks that a call is rejected with 401 and this challenge; returns the other header fields.
 */
async function challenged(error: string, call: Promise<unknown>) {
  const thrown = await call.then(
    () => assert.fail('it was not refused'),
    (reason: unknown) => reason,
  )
  assert.ok(thrown instanceof AppError, String(thrown))
  assert.equal(thrown.code, 'invalid_token', thrown.message)
  const { 'WWW-Authenticate': challenge = '', ...rest } = thrown.headers
  assert.equal(challenge, `DPoP error="${error}", algs="Ed25519 EdDSA"`, thrown.message)
  return rest
}

export function proofsSuite(name: string, engine: Pick<EngineUnderTest, 'newPlace'>): void {
  describe(`proofs: ${name}`, () => {
    let place: Place
    let subject: LocalSubject
    let hand: ServiceDatabase
    let ada: Person
    let token: string
    before(async () => {
      place = await engine.newPlace()
      subject = await openSubject(place)
      hand = await openServiceDatabase(place)
    })
    after(async () => {
      await hand.close()
      await subject.close()
    })
    /** Gives each case a session that has not expired. */
    const signIn = async () => {
      ada = await enrol(subject.server)
      token = ada.enrolment.session.access_token
    }

    type More = Parameters<LocalSubject['proofOf']>[2]
    const proofOf = (more?: More, key = ada.keys.auth) =>
      subject.proofOf(key, { ...GET, token }, more)

    test('a valid proof authenticates its session', async () => {
      await signIn()
      const { authenticate } = subject.service
      assert.deepEqual(await authenticate({ token, proof: await proofOf() }), {
        account: ada.id,
        device: ada.device,
        session: ada.enrolment.session.session_id,
        token: null,
        scope: 'session',
      })
    })

    test('a proof for another request, time or token is rejected', async () => {
      await signIn()
      const { authenticate } = subject.service
      const now = Math.floor(subject.clock.ms / 1000)
      const other = (await enrol(subject.server)).enrolment.session.access_token
      const cases: [string, More][] = [
        ['htm', { method: 'POST' }],
        ['htu, the path', { url: `${PUBLIC_URL}/api/v1/devices` }],
        ['htu, the host', { url: `https://evil.test${PATH}` }],
        ['htu, the scheme', { url: `http://countersign.test${PATH}` }],
        ['iat, too old', { at: now - 61 }],
        ['iat, in the future', { at: now + 61 }],
        ['ath, of another token', { accessToken: other }],
      ]
      for (const [what, more] of cases)
        await challenged(
          'invalid_dpop_proof',
          authenticate({ token, proof: await proofOf(more) }).catch((error: Error) => {
            error.message += ` (${what})`
            throw error
          }),
        )
      const bare = await subject.proofOf(ada.keys.auth, GET)
      await challenged('invalid_dpop_proof', authenticate({ token, proof: bare }))
      await challenged('invalid_dpop_proof', authenticate({ token, proof: { ...GET, text: '' } }))
      for (const at of [now - 60, now + 60])
        await authenticate({ token, proof: await proofOf({ at }) })
    })

    test('a session token is not accepted as a bearer token without a proof', async () => {
      await signIn()
      await challenged('invalid_token', subject.service.authenticate({ token, proof: null }))
    })

    test('a stolen token with the thief’s key gets the error of an unknown token', async () => {
      await signIn()
      const { authenticate } = subject.service
      const thief = newDeviceKeys().auth
      const stolen = authenticate({ token, proof: await proofOf({}, thief) })
      const made = authenticate({
        token: 'x',
        proof: await subject.proofOf(thief, { ...GET, token: 'x' }),
      })
      const [one, two] = await Promise.all(
        [stolen, made].map((call) => call.catch((error: AppError) => error)),
      )
      assert.deepEqual((one as AppError).toJSON(), (two as AppError).toJSON())
      await challenged('invalid_token', stolen)
    })

    test('a repeated proof is rejected, also by another server with the same database', async () => {
      await signIn()
      const replica = await openSubject(place, subject.clock)
      const proof = await proofOf()
      await subject.service.authenticate({ token, proof })
      for (const { service } of [subject, replica])
        await challenged('invalid_dpop_proof', service.authenticate({ token, proof }))
      await replica.service.authenticate({ token, proof: await proofOf() })
      const renewal = await subject.proofOf(ada.keys.auth, RENEWAL)
      const { refresh_token } = ada.enrolment.session
      const renew = async ({ service }: LocalSubject) =>
        service.door(await service.visitor(renewal)).session.renew({ body: { refresh_token } })
      await renew(replica)
      await challenged('invalid_dpop_proof', renew(subject))
      await replica.close()
    })

    test('of ten concurrent uses one succeeds', async () => {
      await signIn()
      const proof = await proofOf()
      const all = await Promise.allSettled(
        Array.from({ length: 10 }, () => subject.service.authenticate({ token, proof })),
      )
      assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
    })

    test('a proof of an ended epoch is not accepted by any replica, and its error has the new nonce', async () => {
      await signIn()
      const replica = await openSubject(place, subject.clock)
      const all = [subject, replica]
      const [used, unused, renewal] = [
        await proofOf(),
        await proofOf(),
        await subject.proofOf(ada.keys.auth, RENEWAL),
      ]
      const former = await replica.service.nonce()
      await subject.service.authenticate({ token, proof: used })
      // Both tables are empty after a crash of PostgreSQL.
      await hand.db.deleteFrom('used_proofs').execute()
      await hand.db.deleteFrom('proof_epoch').execute()
      const nonces = new Set<string>()
      const { refresh_token } = ada.enrolment.session
      for (let i = 0; i < 2; i++)
        for (const { service } of all) {
          const renew = async () =>
            service.door(await service.visitor(renewal)).session.renew({ body: { refresh_token } })
          const calls = [used, unused].map(
            (proof) => () => service.authenticate({ token, proof }) as Promise<unknown>,
          )
          for (const call of [...calls, renew]) {
            const answer = await challenged('use_dpop_nonce', call())
            nonces.add(answer['DPoP-Nonce']!)
          }
        }
      assert.equal(nonces.size, 1)
      assert.ok(!nonces.has(former))
      for (const { service } of all) {
        assert.ok(nonces.has(await service.nonce()))
        const proof = await proofOf()
        await service.authenticate({ token, proof })
        await challenged('invalid_dpop_proof', service.authenticate({ token, proof }))
      }
      await replica.close()
    })

    test('a replica accepts a nonce of an epoch that it does not know yet', async () => {
      await signIn()
      const replica = await openSubject(place, subject.clock)
      await replica.service.nonce()
      await hand.db.deleteFrom('proof_epoch').execute()
      await challenged(
        'use_dpop_nonce',
        subject.service.authenticate({ token, proof: await proofOf() }),
      )
      await replica.service.authenticate({ token, proof: await proofOf() })
      await replica.close()
    })

    test('a jti may have any characters', async () => {
      await signIn()
      // The product’s own library writes short values; RFC 9449 section 4.2 allows any text.
      const { signJwt } = await import('../../src/crypto/jose/jwt.ts')
      const { hash } = await import('node:crypto')
      const claims = {
        jti: '\0é\u{1f600}',
        htm: 'GET',
        htu: PUBLIC_URL + PATH,
        iat: Math.floor(subject.clock.ms / 1000),
        ath: hash('sha256', token, 'base64url'),
        nonce: await subject.service.nonce(),
      }
      const { jwk, secret } = ada.keys.auth
      const text = signJwt({ typ: 'dpop+jwt', jwk }, claims, secret)
      const once = () => subject.service.authenticate({ token, proof: { ...GET, text } })
      await once()
      await challenged('invalid_dpop_proof', once())
    })

    test('accepts the current and the previous nonce, the same at every replica', async () => {
      subject.clock.ms = Math.ceil(subject.clock.ms / (2 * MINUTE)) * 2 * MINUTE
      await signIn()
      const { authenticate, nonce } = subject.service
      const replica = await openSubject(place, subject.clock)
      const first = await nonce()
      assert.match(first, /^[\w-]{30}$/)
      assert.equal(await replica.service.nonce(), first)
      // A proof without the member, which the test’s own signer always adds.
      const { signProof } = await import('../../src/crypto/jose/dpop.ts')
      const without = await signProof(
        {
          method: 'GET',
          url: PUBLIC_URL + PATH,
          at: Math.floor(subject.clock.ms / 1000),
          accessToken: token,
        },
        ada.keys.auth,
      )
      for (const proof of [{ ...GET, text: without }, await proofOf({ nonce: 'x' })]) {
        const answer = await challenged('use_dpop_nonce', authenticate({ token, proof }))
        assert.deepEqual(answer, { 'DPoP-Nonce': first })
      }
      subject.clock.ms += 2 * MINUTE
      const second = await nonce()
      assert.notEqual(second, first)
      await authenticate({ token, proof: await proofOf({ nonce: first }) })
      subject.clock.ms += 2 * MINUTE
      const answer = await challenged(
        'use_dpop_nonce',
        authenticate({ token, proof: await proofOf({ nonce: first }) }),
      )
      await authenticate({ token, proof: await proofOf({ nonce: answer['DPoP-Nonce']! }) })
      await replica.close()
    })

    test('the holder of a proven key is an anonymous caller', async () => {
      await signIn()
      const { visitor } = subject.service
      const { key } = await visitor(await subject.proofOf(ada.keys.auth, RENEWAL))
      const row = await hand.db
        .selectFrom('devices')
        .select('auth_kid')
        .where('id', '=', ada.device)
        .executeTakeFirstOrThrow()
      assert.equal(key, row.auth_kid)
      // RFC 9449 section 4.3: ath belongs to a token, and this request has none.
      const withAth = await subject.proofOf(ada.keys.auth, { ...RENEWAL, token })
      await challenged('invalid_dpop_proof', visitor(withAth))
    })

    test('the proof of a stranger stores nothing', async () => {
      await signIn()
      const seen = () => hand.db.selectFrom('used_proofs').select('id').orderBy('id').execute()
      const before = await seen()
      const { refresh_token } = ada.enrolment.session
      for (const [key, presented] of [
        [newDeviceKeys().auth, 'x'],
        [newDeviceKeys().auth, token],
        [ada.keys.auth, 'x'],
      ] as const) {
        const proof = await subject.proofOf(key, { ...GET, token: presented })
        const call = subject.service.authenticate({ token: presented, proof })
        await challenged('invalid_token', call)
      }
      for (const [key, text] of [
        [newDeviceKeys().auth, 'x'],
        [newDeviceKeys().auth, refresh_token],
        [ada.keys.auth, 'x'],
      ] as const) {
        const renewal = subject.server.door(key).session.renew({ body: { refresh_token: text } })
        await challenged('invalid_token', renewal)
      }
      assert.deepEqual(await seen(), before)
      await subject.server.door(ada.keys.auth).session.renew({ body: { refresh_token } })
      assert.equal((await seen()).length, before.length + 1)
    })

    test('a renewal without a proof, or with another key, gets an error that names what is missing', async () => {
      await signIn()
      const { refresh_token } = ada.enrolment.session
      const renew = (key: string | null) =>
        subject.service.open.session.renew({ body: { refresh_token } }, { key })
      await challenged('invalid_dpop_proof', renew(null))
      await challenged('invalid_token', renew('another'))
    })

    test('records of expired proofs are deleted', async () => {
      await signIn()
      const seen = async () =>
        (await hand.db.selectFrom('used_proofs').select('id').execute()).length
      await ada.account.context.read({})
      assert.ok((await seen()) > 0)
      // As a server of an earlier version stores it.
      const former = { id: 'f'.repeat(64), expires_at: subject.clock.ms + MINUTE }
      await hand.db.insertInto('used_proofs').values(former).execute()
      subject.clock.ms += 10 * MINUTE
      await ada.account.context.read({})
      // No request waits for the deletion, so it may happen a little later.
      await until('no record of an expired proof', async () => (await seen()) <= 1)
    })

    test('a renewal deletes expired access tokens', async () => {
      await signIn()
      const { refresh_token, session_id } = ada.enrolment.session
      const renew = () =>
        subject.server.door(ada.keys.auth).session.renew({ body: { refresh_token } })
      const stored = async () =>
        (
          await hand.db
            .selectFrom('access_tokens')
            .select('hash')
            .where('session_id', '=', session_id)
            .execute()
        ).length
      subject.clock.ms += 30 * MINUTE
      await renew()
      assert.equal(await stored(), 2)
      subject.clock.ms += 30 * MINUTE
      await renew()
      assert.equal(await stored(), 2)
    })
  })

  describe(`sign-in: ${name}`, () => {
    let subject: LocalSubject
    let hand: ServiceDatabase
    before(async () => {
      const place = await engine.newPlace()
      subject = await openSubject(place)
      hand = await openServiceDatabase(place)
    })
    after(async () => {
      await hand.close()
      await subject.close()
    })

    test('the sixth code is rejected with the time to wait', async () => {
      const email = newAddress()
      const ask = () => subject.server.door().signIns.create({ body: { email } })
      await ask()
      subject.clock.ms += 5 * MINUTE
      for (let i = 0; i < 4; i++) await ask()
      await assert.rejects(ask(), { code: 'rate_limited', headers: { 'Retry-After': '600' } })
      subject.clock.ms += 10 * MINUTE
      await ask()
    })

    test('a revocation deletes everything of the device in one step', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const laptop = await join(subject.server, await mailedCode(subject.server, email))
      await approve(ada, laptop)
      const renewed = await resetOf(subject.server, ada.id, await mailedCode(subject.server, email))
      const gone = [ada.device, laptop.device]
      const sessions = await hand.db
        .selectFrom('sessions')
        .select('device_id')
        .where('account_id', '=', ada.id)
        .execute()
      assert.deepEqual(
        sessions.map(({ device_id }) => device_id),
        [renewed.device],
      )
      const tokens = await hand.db
        .selectFrom('access_tokens')
        .innerJoin('sessions', 'sessions.id', 'session_id')
        .select('device_id')
        .where('device_id', 'in', gone)
        .execute()
      assert.deepEqual(tokens, [])
      const rows = await hand.db
        .selectFrom('devices')
        .select('revoked_at')
        .where('id', 'in', gone)
        .execute()
      assert.deepEqual(
        rows.map(({ revoked_at }) => revoked_at),
        [subject.clock.ms, subject.clock.ms],
      )
    })

    test('a logged device gets envelopes after it checked the log', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const laptop = await join(subject.server, await mailedCode(subject.server, email))
      const { openEntry } = await import('../../src/crypto/logs/roster.ts')
      const { entryHash } = await import('../../src/crypto/jose/jws.ts')
      const { newId } = await import('../../src/crypto/encoding/id.ts')
      await ada.account.keyLogs.append({ body: { entry: await additionBy(ada, laptop) } })
      const actorLog = await logOf(ada)
      const [connection, k] = [newId('con_', Date.now()), new Uint8Array(32).fill(7)]
      const seed = ada.keys.sign.secret
      const of = { connection, k, device: ada.device, kid: ada.kid, seed }
      const entry = openEntry({ ...of, actor: ada.id, actorLog, at: 1 })
      const envelopes = await Promise.all(
        [ada, laptop].map(({ device, keys }) =>
          envelopeTo({
            connection,
            epoch: 1,
            epochHead: entryHash(entry),
            k,
            recipient: device,
            seal: keys.seal,
          }),
        ),
      )
      await ada.account.rosters.open({ body: { connection, name: 'Bob', entry, envelopes } })
      const session = {
        account: ada.id,
        device: laptop.device,
        session: laptop.enrolment.session.session_id,
        token: null,
      }
      // The scope table rejects the device; so does the answer itself.
      const inside = subject.service.as(session)
      assert.deepEqual(await inside.envelopes.read({ connection }), { envelopes: [] })
      await rejects(
        'forbidden',
        inside.rosters.open({ body: { connection, name: 'Bob', entry, envelopes } }),
      )
      await laptop.account.approval.create({ body: { head: encodeBase64url(actorLog.head) } })
      const read = () => laptop.account.envelopes.read({ connection })
      assert.deepEqual(await read(), { envelopes: [] }, 'none was kept before')
      const sealed = [envelopes[1] as string]
      await ada.account.envelopes.add({ connection, body: { envelopes: sealed } })
      assert.deepEqual(await read(), { envelopes: sealed })
      const revocation = await revocationBy(ada, laptop.device)
      await ada.account.keyLogs.append({ body: { entry: revocation } })
      const stored = await hand.db
        .selectFrom('envelopes')
        .select('recipient')
        .where('connection_id', '=', connection)
        .execute()
      assert.deepEqual(
        stored.map(({ recipient }) => recipient),
        [ada.device],
      )
    })

    test('callers without a device get no_device', async () => {
      const ada = await enrol(subject.server)
      const of = { account: ada.id, device: null, session: null, token: 'tok' }
      const bearer = subject.service.as(of)
      const calls = [
        bearer.approval.create({ body: { head: 'A'.repeat(43) } }),
        bearer.keyLogs.append({ body: { entry: ada.entry } }),
        bearer.envelopes.read({ connection: 'con_x' }),
        bearer.rosters.open({
          body: {
            connection: `con_${'0'.repeat(26)}`,
            name: 'x',
            entry: 'a.b.c',
            envelopes: ['a.b.c'],
          },
        }),
        bearer.currentSession.delete({}),
      ]
      for (const call of calls) await rejects('no_device', call)
      assert.equal((await bearer.devices.list({})).items[0]?.current, false)
    })
  })
}

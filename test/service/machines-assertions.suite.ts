/**
 * How a machine account proves its key, on any engine. The assertions are made here and by other
 * libraries.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, beforeEach, describe, test } from 'node:test'
import { SignJWT, UnsecuredJWT } from 'jose'
import { newId } from '../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import type { AppError } from '../../src/errors.ts'
import { machineOf } from '../../src/service/devices/oauth.ts'
import {
  DESCRIPTION,
  ENDPOINT,
  ISSUER,
  atOnce,
  newKey,
  privateKey,
  openTwo,
  refusal,
  type Subject,
} from './machines-subject.ts'
import type { Engine } from './engines.ts'

type Machine = Awaited<ReturnType<Subject['newMachine']>>

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

export function assertionsSuite(name: string, engine: Engine): void {
  describe(`assertions: ${name}`, () => {
    let here: Subject
    let replica: Subject
    before(async () => {
      ;[here, replica] = await openTwo(engine, Date.now())
    })
    beforeEach(() => {
      // Libraries read the clock of this machine.
      here.clock.ms = Date.now()
    })
    after(() => Promise.all([here.close(), replica.close()]))

    const claimsOf = ({ account }: Pick<Machine, 'account'>, of: object = {}) => ({
      iss: account,
      sub: account,
      aud: ISSUER,
      iat: here.seconds(),
      exp: here.seconds() + 60,
      jti: crypto.randomUUID(),
      ...of,
    })

    describe('return their account', () => {
      for (const audience of [ISSUER, ENDPOINT])
        test(`for the audience ${audience}`, async () => {
          const machine = await here.newMachine()
          const assertion = await here.assertionOf(machine, { audience })
          assert.equal((await machineOf(here.ground, assertion)).account, machine.account)
        })

      for (const alg of ['EdDSA', 'Ed25519'])
        for (const named of [true, false])
          test(`made by jose with ${alg}, ${named ? 'with' : 'without'} kid`, async () => {
            const machine = await here.newMachine()
            const { jwk } = machine.key
            const assertion = await new SignJWT(
              claimsOf(machine, { aud: ['https://x.test', ENDPOINT] }),
            )
              .setProtectedHeader({ alg, ...(named ? { kid: thumbprint(jwk) } : {}) })
              .sign(await privateKey(machine.key))
            assert.equal((await machineOf(here.ground, assertion)).account, machine.account)
          })

      test('can be used once, also on another replica and shortly before their end', async () => {
        const machine = await here.newMachine()
        const assertion = await here.assertionOf(machine, { lifetimeS: 60 })
        await machineOf(here.ground, assertion)
        const again = await refusal(machineOf(here.ground, assertion))
        assert.equal(again.error, 'invalid_client')
        // The last moment that the leeway for clocks allows; the next assertion deletes expired
        // records.
        here.clock.ms = (here.seconds() + 60 + 59) * 1000 + 999
        await machineOf(here.ground, await here.assertionOf(machine))
        for (const { ground } of [here, replica])
          assert.deepEqual(await refusal(machineOf(ground, assertion)), again)
      })

      test('of eight concurrent uses one succeeds', async () => {
        const machine = await here.newMachine()
        const assertion = await here.assertionOf(machine)
        const all = await Promise.allSettled(
          atOnce(engine, here, replica).map(({ ground }) => machineOf(ground, assertion)),
        )
        assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
        for (const one of all)
          if (one.status === 'rejected')
            assert.equal((one.reason as AppError).code, 'invalid_client')
      })

      test('the same jti of two machines is two assertions', async () => {
        const jti = crypto.randomUUID()
        for (const machine of [await here.newMachine(), await here.newMachine()]) {
          const assertion = await new SignJWT(claimsOf(machine, { jti }))
            .setProtectedHeader({ alg: 'Ed25519' })
            .sign(await privateKey(machine.key))
          assert.equal((await machineOf(here.ground, assertion)).account, machine.account)
        }
      })

      test('a deleted record belongs to an expired assertion', async () => {
        const machine = await here.newMachine()
        await machineOf(here.ground, await here.assertionOf(machine))
        here.clock.ms += 600_000
        await machineOf(here.ground, await here.assertionOf(machine))
        await here.idle()
        const stored = await here.db.selectFrom('seen_once').selectAll().execute()
        assert.equal(stored.length, 1)
      })
    })

    describe('refused', () => {
      let machine: Machine
      let other: Machine
      before(async () => {
        machine = await here.newMachine()
        other = await here.newMachine()
      })

      const mac = (header: object, secret: string | Uint8Array) => {
        const input = `${encoded(header)}.${encoded(claimsOf(machine))}`
        return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
      }
      const signed = async (claims: object, header: object = {}, key = machine.key) =>
        new SignJWT(claims as Record<string, unknown>)
          .setProtectedHeader({ alg: 'Ed25519', ...header })
          .sign(await privateKey(key))
      const stranger = () => ({ account: newId('mch_', here.clock.ms), key: newKey() })

      const CASES: Readonly<Record<string, () => string | Promise<string>>> = {
        'another audience': () => here.assertionOf(machine, { audience: 'https://evil.test' }),
        'the audience with a trailing slash': () =>
          here.assertionOf(machine, { audience: `${ENDPOINT}/` }),
        'a key that is not the machine’s': () => here.assertionOf({ ...machine, key: newKey() }),
        'another machine’s key': () => here.assertionOf({ ...machine, key: other.key }),
        'another machine’s key, without kid': () => signed(claimsOf(machine), {}, other.key),
        'another machine’s key, with the machine’s kid': () =>
          signed(claimsOf(machine), { kid: thumbprint(machine.key.jwk) }, other.key),
        'an unknown account': () => here.assertionOf(stranger()),
        'a suspended machine': async () => {
          const suspended = await here.newMachine()
          await here.setState(suspended.account, 'suspended')
          return here.assertionOf(suspended)
        },
        'a person': async () => {
          const person = { account: await here.newPerson(), key: newKey() }
          return signed(claimsOf(person), {}, person.key)
        },
        'another iss': () => signed(claimsOf(machine, { iss: other.account })),
        'no jti': () => signed(claimsOf(machine, { jti: undefined })),
        'no exp': () => signed(claimsOf(machine, { exp: undefined })),
        'no aud': () => signed(claimsOf(machine, { aud: undefined })),
        'another typ': () => signed(claimsOf(machine), { typ: 'dpop+jwt' }),
        'a key in the header': () => signed(claimsOf(machine), { jwk: machine.key.jwk }),
        'alg none': () => new UnsecuredJWT(claimsOf(machine)).encode(),
        'alg none, with a signature': async () => {
          const [, payload, signature] = (await here.assertionOf(machine)).split('.')
          return `${encoded({ alg: 'none' })}.${payload}.${signature}`
        },
        'HS256 under the bytes of the public key': () =>
          mac({ alg: 'HS256' }, Buffer.from(machine.key.jwk.x, 'base64url')),
        'HS256 under the text of the public key': () =>
          mac({ alg: 'HS256' }, JSON.stringify(machine.key.jwk)),
        'Ed25519 over a MAC': () =>
          mac({ alg: 'Ed25519' }, Buffer.from(machine.key.jwk.x, 'base64url')),
        'a claim changed': async () => {
          const [header, , signature] = (await here.assertionOf(machine)).split('.')
          return `${header}.${encoded(claimsOf(machine))}.${signature}`
        },
        'no JWT': () => 'x',
        'nothing in it': () => '..',
        'deep JSON': () =>
          `${encoded({ alg: 'Ed25519' })}.${Buffer.from('['.repeat(5000)).toString('base64url')}.AAAA`,
      }
      for (const [why, make] of Object.entries(CASES))
        test(why, async () => {
          const all = []
          for (const call of [
            async () => machineOf(here.ground, await make()),
            async () => here.getToken(await here.form(machine, { client_assertion: await make() })),
          ])
            all.push(await refusal(call()))
          const expected = await refusal(machineOf(here.ground, await here.assertionOf(stranger())))
          assert.deepEqual(all, [expected, expected])
          assert.equal(expected.error, 'invalid_client')
          assert.match(expected.error_description ?? '', DESCRIPTION)
          assert.doesNotMatch(expected.message, /acc_|mch_|account exist|clock/)
        })

      for (const [why, of] of Object.entries({
        expired: { at: -121, lifetimeS: 60 },
        'a time in the future': { at: 61, lifetimeS: 60 },
        'an assertion that is too long': { at: 61, lifetimeS: 300 },
      }))
        test(`${why}: only the holder of the key gets the reason, which names the clock`, async () => {
          const at = { at: here.seconds() + of.at, lifetimeS: of.lifetimeS }
          const known = await refusal(machineOf(here.ground, await here.assertionOf(machine, at)))
          assert.equal(known.error, 'invalid_client')
          assert.match(known.message, /this server's clock/)
          assert.match(known.error_description ?? '', DESCRIPTION)
          for (const who of [stranger(), { ...machine, key: newKey() }]) {
            const { message } = await refusal(
              machineOf(here.ground, await here.assertionOf(who, at)),
            )
            assert.doesNotMatch(message, /clock/)
          }
        })

      test('the cause is logged', async () => {
        const call = machineOf(
          here.ground,
          await here.assertionOf(machine, { audience: 'https://x.test' }),
        )
        await assert.rejects(call, ({ cause }: Error) => {
          assert.equal((cause as { reason?: string }).reason, 'wrong_audience')
          return true
        })
      })

      test('a rejected assertion can still be used', async () => {
        const assertion = await here.assertionOf(machine, {
          at: here.seconds() + 90,
          lifetimeS: 60,
        })
        await refusal(machineOf(here.ground, assertion))
        here.clock.ms += 90_000
        await machineOf(here.ground, assertion)
      })
    })
  })
}

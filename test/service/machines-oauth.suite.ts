/**
 * How a machine account gets tokens for its assertions, as OAuth clients see it, on any engine.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import * as oauth4webapi from 'oauth4webapi'
import type { KeyPair } from '../../src/crypto/device-keys.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { AppError, statusOf } from '../../src/errors.ts'
import {
  ENDPOINT,
  ISSUER,
  BY_JWT,
  DESCRIPTION,
  as,
  newKey,
  privateKey,
  openMachines,
  refusal,
  type Subject,
} from './machines-subject.ts'
import type { Engine } from './engines.ts'
import { rejects } from '../rejects.ts'

const LIFETIME_S = 3600

export function oauthSuite(name: string, engine: Engine): void {
  describe(`token endpoint: ${name}`, () => {
    let here: Subject
    before(async () => {
      here = await openMachines(await engine.newPlace(), { ms: Date.now() })
    })
    beforeEach(() => {
      // Libraries read the clock of this machine.
      here.clock.ms = Date.now()
    })
    after(() => here.close())

    for (const [scope, granted] of [
      [undefined, 'read'],
      ['', 'read'],
      ['read', 'read'],
      ['write', 'write'],
      ['full', 'full'],
      ['read write', 'write'],
      ['full read', 'full'],
      ['read read', 'read'],
    ] as const)
      test(`scope ${JSON.stringify(scope) ?? 'left out'}: ${granted}`, async () => {
        const machine = await here.newMachine()
        const { access_token, ...rest } = await here.getToken(await here.form(machine, { scope }))
        assert.deepEqual(rest, { token_type: 'Bearer', expires_in: LIFETIME_S, scope: granted })
        const caller = await here.authenticate(access_token)
        assert.deepEqual([caller.account, caller.scope], [machine.account, granted])
        here.clock.ms += LIFETIME_S * 1000
        await rejects('invalid_token', here.authenticate(access_token))
      })

    const X = { client_assertion: 'x', client_assertion_type: BY_JWT }
    const G = { grant_type: 'client_credentials' }
    for (const [body, code, status] of [
      [{}, 'invalid_request', 400],
      [{ ...X, grant_type: '' }, 'invalid_request', 400],
      [{ ...X, grant_type: 'password' }, 'unsupported_grant_type', 400],
      [{ ...X, grant_type: 'authorization_code' }, 'unsupported_grant_type', 400],
      [{ ...X, ...G, scope: 'root' }, 'invalid_scope', 400],
      [{ ...X, ...G, scope: 'read root' }, 'invalid_scope', 400],
      [{ ...X, ...G, scope: 'read  write' }, 'invalid_scope', 400],
      [{ ...X, ...G, scope: 'READ' }, 'invalid_scope', 400],
      [{ ...X, ...G, scope: 'constructor' }, 'invalid_scope', 400],
      [G, 'invalid_client', 401],
      [{ ...G, client_id: 'acc_x' }, 'invalid_client', 401],
      [{ ...G, client_assertion: 'x' }, 'invalid_request', 400],
      [{ ...G, client_assertion_type: BY_JWT }, 'invalid_request', 400],
      [{ ...X, ...G, client_assertion_type: 'saml2' }, 'invalid_client', 401],
      [{ ...X, ...G }, 'invalid_client', 401],
    ] as const)
      test(`${JSON.stringify(body)}: ${code}`, async () => {
        const { error, message, error_description } = await refusal(here.getToken(body))
        assert.deepEqual([error, statusOf(error)], [code, status])
        assert.equal(error_description, message)
        assert.match(message, DESCRIPTION)
      })

    test('client_id has to match the assertion, or be omitted', async () => {
      const [machine, other] = [await here.newMachine(), await here.newMachine()]
      await here.getToken(await here.form(machine, { client_id: machine.account }))
      await here.getToken(await here.form(machine, { client_id: '' }))
      for (const client_id of [other.account, 'x'])
        await rejects('invalid_client', here.getToken(await here.form(machine, { client_id })))
    })

    test('an error in the form does not use up the assertion', async () => {
      const machine = await here.newMachine()
      const body = await here.form(machine)
      await refusal(here.getToken({ ...body, scope: 'root' }))
      await here.getToken(body)
      await rejects('invalid_client', here.getToken(body))
    })

    test('tokens are listed, and expired ones are deleted with the next token', async () => {
      const machine = await here.newMachine()
      // The name of a token makes no difference.
      const own = await here.machineTokens.create(
        { body: { name: 'client_credentials', scope: 'read', expires_in: 60 } },
        as(machine.account),
      )
      await here.getToken(await here.form(machine, { scope: 'write' }))
      const list = async () =>
        (await here.machineTokens.list({ limit: 50 }, as(machine.account))).items
      const [got] = await list()
      assert.deepEqual(
        [got?.name, got?.scope, got?.state],
        ['client_credentials', 'write', 'active'],
      )
      here.clock.ms += LIFETIME_S * 1000
      await here.getToken(await here.form(machine))
      const left = await list()
      assert.equal(left.length, 2)
      assert.ok(!left.some(({ id }) => id === got?.id))
      assert.ok(left.some(({ id }) => id === own.id))
    })

    test('the database contains neither token nor assertion', async () => {
      const machine = await here.newMachine()
      const body = await here.form(machine)
      const { access_token } = await here.getToken(body)
      const stored = await here.everything()
      assert.ok(stored.includes(machine.account))
      for (const secret of [access_token.slice(4), ...body.client_assertion!.split('.')])
        assert.ok(!stored.includes(secret))
    })

    test('oauth4webapi discovers it, and gets a token with PrivateKeyJwt', async () => {
      const machine = await here.newMachine()
      /** Answers these two routes as the listener does. */
      const served = async (url: string, init: { method?: string; body?: unknown }) => {
        const { href } = new URL(url)
        if (href === `${ISSUER}/.well-known/oauth-authorization-server`)
          return Response.json(await here.oauth.metadata({}, { key: null }))
        assert.deepEqual([href, init.method], [ENDPOINT, 'POST'])
        const body = Object.fromEntries(new URLSearchParams(String(init.body as URLSearchParams)))
        try {
          return Response.json(await here.getToken(body))
        } catch (error) {
          assert(error instanceof AppError)
          return Response.json(error, { status: statusOf(error.code), headers: error.headers })
        }
      }
      const options = { [oauth4webapi.customFetch]: served }
      const issuer = new URL(ISSUER)
      const found = await oauth4webapi.discoveryRequest(issuer, {
        ...options,
        algorithm: 'oauth2',
      })
      const server = await oauth4webapi.processDiscoveryResponse(issuer, found)
      const client = { client_id: machine.account }
      const get = async (key: KeyPair, scope: string) => {
        const proof = oauth4webapi.PrivateKeyJwt({
          key: await privateKey(key),
          kid: thumbprint(key.jwk),
        })
        const response = await oauth4webapi.clientCredentialsGrantRequest(
          server,
          client,
          proof,
          { scope },
          options,
        )
        return oauth4webapi.processClientCredentialsResponse(server, client, response)
      }
      const { access_token, expires_in, scope } = await get(machine.key, 'full')
      assert.deepEqual([expires_in, scope], [LIFETIME_S, 'full'])
      assert.equal((await here.authenticate(access_token)).account, machine.account)
      for (const [key, asked, error] of [
        [newKey(), 'read', 'invalid_client'],
        [machine.key, 'root', 'invalid_scope'],
      ] as const)
        await assert.rejects(get(key, asked), (refused) => {
          assert(refused instanceof oauth4webapi.ResponseBodyError)
          assert.equal(refused.error, error)
          assert.match(refused.error_description ?? '', DESCRIPTION)
          return true
        })
    })
  })
}

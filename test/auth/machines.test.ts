/**
 * Tests tokens of machine accounts.
 * The account server checks each request, and the daemon stores nothing.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MachineAccount } from '../../src/auth/tokens.ts'
import { type AskServer, isMachineToken, machineCaller } from '../../src/auth/machines.ts'
import { newToken } from '../../src/crypto/token.ts'
import { AppError, type ErrorCode } from '../../src/errors.ts'
import { rejects } from '../rejects.ts'

const account = {} as MachineAccount
const TOKEN = newToken('csm_')

const failing =
  (code: ErrorCode): AskServer =>
  () =>
    Promise.reject(new AppError(code, 'as the server says'))

describe('a machine token', () => {
  it('is recognised by its format', () => {
    assert.deepEqual([TOKEN, newToken('csd_'), 'csm', ''].map(isMachineToken), [
      true,
      false,
      false,
      false,
    ])
  })

  it('is checked with the server at every request', async () => {
    const asked: string[] = []
    const scopes = ['full', 'read'] as const
    const ask: AskServer = async (token) => {
      asked.push(token)
      const scope = scopes[asked.length - 1]
      if (scope === undefined) throw new AppError('invalid_token', 'revoked')
      return { id: 'tok_1', scope, account }
    }
    for (const scope of scopes)
      assert.deepEqual(await machineCaller(TOKEN, ask), { token: 'tok_1', scope, machine: account })
    await rejects('invalid_token', machineCaller(TOKEN, ask))
    assert.deepEqual(asked, [TOKEN, TOKEN, TOKEN])
  })

  for (const [expected, code] of [
    ['invalid_token', 'invalid_token'],
    ['unauthorized', 'invalid_token'],
    ['not_signed_in', 'invalid_token'],
    ['backend_unavailable', 'backend_unavailable'],
    ['backend_timeout', 'backend_timeout'],
    ['backend_error', 'backend_error'],
    ['rate_limited', 'rate_limited'],
  ] as const)
    it(`that the server answers with ${expected}: ${code}`, async () => {
      await rejects(code, machineCaller(TOKEN, failing(expected)))
    })

  for (const text of ['csm_', `${TOKEN}x`, TOKEN.slice(0, -1), TOKEN.replace(/_./, '_!')])
    it(`${JSON.stringify(text)} is malformed, and is not sent to the server`, async () => {
      const ask: AskServer = () => assert.fail('asked')
      await rejects('invalid_token', machineCaller(text, ask))
    })
})

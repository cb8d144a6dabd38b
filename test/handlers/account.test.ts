/**
 * Tests DELETE /account.
 * The token selects the account, and the account decides what this device deletes.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { account } from '../../src/handlers/account.ts'
import { enrolled } from '../device/enrolled.ts'
import { contextOf } from '../world/requests.ts'

it('account delete with a machine token deletes the machine account alone', async (t) => {
  const device = await enrolled(t)
  const id = await device.connect()
  const asked: unknown[] = []
  const parts: Partial<Account> = {
    account: { delete: async (input) => void asked.push(input) },
  }
  const machine = { ...device.account, ...parts }
  const caller = { token: 'tok_2', scope: 'write', machine } as const
  await account.delete({}, contextOf(device, parts, { caller }))
  assert.deepEqual(asked, [{}])
  assert.notEqual(device.deviceSession.identity(), null)
  assert.notEqual(device.state.connections.get(id), null)
})

it('account delete by the owner deletes the API tokens once the account is gone, and none before', async (t) => {
  const device = await enrolled(t)
  const context = contextOf(device)
  const { tokens } = context.home
  const { token } = tokens.mint({ name: 'x', scope: 'write' })
  let isGone = false
  const signIn = {
    ...context.home.signIn,
    deleteAccount: async () => {
      if (!isGone) throw new Error('the server is away')
    },
  }
  const asking = Object.assign(Object.create(context) as typeof context, {
    home: { ...context.home, signIn },
  })
  await assert.rejects(account.delete({}, asking), /away/)
  assert.equal(tokens.authenticate(token).scope, 'write')
  isGone = true
  await account.delete({}, asking)
  assert.throws(() => tokens.authenticate(token), /wrong, expired or revoked/)
  assert.deepEqual(tokens.list(), [])
})

/** `logout` when the account server no longer has the device. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { newWorld } from '../world/world.ts'
import { newLaptop } from '../device/session/signing-in.ts'
import { apiOf, call } from './calling.ts'

it('logout of a device that the server does not know: an error, and --forget signs it out', async (t) => {
  const server = await newWorld(t)
  const laptop = newLaptop(t, server, 'desk')
  await laptop.signIn()
  const api = apiOf(laptop)
  await laptop.account.currentSession.delete({})
  const result = await call(api, ['logout', '--last-device'])
  assert.deepEqual([result.code, result.out], [EXIT.failed, ''])
  assert.match(result.err, /countersignd logout --forget/)
  assert.notEqual(laptop.keychain.get('device'), null)
  const gone = await call(api, ['logout', '--forget'])
  assert.deepEqual([gone.code, gone.err], [EXIT.ok, 'Signed out.\n'])
  for (const name of ['device', 'session']) assert.equal(laptop.keychain.get(name), null)
})

/**
 * Tests what a device stores of key logs beside their entries, and what it reads to store more.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { keepKeyLog } from '../../src/device/logs/key-log.ts'
import { rememberedEntries, rememberedLog } from '../../src/device/identity/key-log-cache.ts'
import { openState } from '../../src/state/state.ts'
import { add, newDevice, newPerson, newRecoveryKey, protect, reset } from '../crypto/builders.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

function opened(t: TestContext, dir = freshFolder(t)) {
  const state = openState(dir)
  t.after(() => state.close())
  return state
}

describe('a key log in the state database', () => {
  it('returns the recovery key of each reset, also after a restart', (t) => {
    const first = newDevice()
    const person = newPerson(first)
    const keys = [newRecoveryKey(), newRecoveryKey()]
    protect(person, keys[0]!, first)
    const dir = freshFolder(t)
    const state = openState(dir)
    keepKeyLog(state, person.log)
    const second = newDevice()
    reset(person, second)
    protect(person, keys[1]!, second)
    for (const key of keys) reset(person, newDevice(), key)
    keepKeyLog(state, person.log)
    state.close()
    const again = opened(t, dir)
    const names = person.log.heads.slice(-2).map(encodeBase64url)
    const vouchers = new Map(names.map((name, at) => [name, keys[at]!.jwk.x]))
    assert.deepEqual(rememberedEntries(again, person.account).known?.vouchers, vouchers)
    assert.deepEqual(rememberedLog(again, person.account), person.log)
  })

  it('is stored again, and continued, without being read whole', (t) => {
    const device = newDevice()
    const person = newPerson(device)
    add(person, newDevice(), device)
    const state = opened(t)
    keepKeyLog(state, person.log)
    const shorter = person.log
    const whole = () => assert.fail('the log was read whole')
    const logs = { ...state.logs, read: whole, keyLog: whole }
    add(person, newDevice(), device)
    for (const log of [person.log, shorter, person.log]) keepKeyLog({ ...state, logs }, log)
    assert.deepEqual(state.logs.read('keylog', person.account), person.log.entries)
  })

  it('rejects other histories, shorter or longer', (t) => {
    const device = newDevice()
    const person = newPerson(device)
    add(person, newDevice(), device)
    const other = { ...person }
    add(person, newDevice(), device)
    const state = opened(t)
    keepKeyLog(state, person.log)
    for (let times = 0; times < 2; times++) {
      add(other, newDevice(), device)
      assert.throws(() => keepKeyLog(state, other.log), { reason: 'key_log_forked' })
    }
    const shorter = { ...person.log, entries: ['another'] }
    assert.throws(() => keepKeyLog(state, shorter), { reason: 'key_log_forked' })
    assert.deepEqual(state.logs.read('keylog', person.account), person.log.entries)
  })
})

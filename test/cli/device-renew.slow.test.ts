/** `device renew`: a new sealing key at once; and a restore of a backup from before it. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { terminal } from './terminal.ts'
import { newCliFixture, joinMembers } from './cli-fixture.ts'

const WEEK_MS = 7 * 24 * 3_600_000

test('device renew prints the end of the old key, and connections keep working', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')
  await joinMembers(ada, id, [bob])
  const before = Date.now()
  const renewed = await ada.json('device', 'renew')
  const { device } = await ada.json('whoami')
  assert.equal(renewed.device_id, device.id)
  const since = Date.parse(renewed.old_key_until) - WEEK_MS
  assert(since >= before && since <= Date.now(), renewed.old_key_until)
  const { out, err } = await ada.good(['device', 'renew'])
  assert.equal(out, '')
  assert.match(
    err,
    /^This device has a new sealing key\. The old key is kept until .*\(in 7 days\)/,
  )
  await bob.good(['rotate', id])
  await ada.good(['sync'])
  const { words } = await bob.json('code', id)
  assert.equal((await ada.on(['verify'], { input: words })).code, EXIT.ok)
})

test('a backup from before a renewal: the restored device renews again, and gets the secret', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')
  await joinMembers(ada, id, [bob])
  const folder = freshFolder(t)
  const [file, passphrase] = [join(folder, 'backup'), join(folder, 'passphrase')]
  writeFileSync(passphrase, 'five words that are not guessed\n', { mode: 0o600 })
  await ada.good(['backup', file, '--passphrase-file', passphrase])
  await ada.good(['device', 'renew'])
  // Sealed to a key that is not in the backup.
  await bob.good(['rotate', id])

  const restored = terminal(join(freshFolder(t), 'state'))
  const env = { SVC_BACKEND_URL: fixture.server }
  const good = async (args: string[]) => {
    const result = await restored(args, { env })
    assert.equal(result.code, EXIT.ok, result.err)
    return result
  }
  await good(['restore', file, '--passphrase-file', passphrase])
  const { err } = await good(['sync'])
  assert.match(err, /restored from a backup .* has renewed it again/)
  assert.match(err, /sealed to a key that this device no longer has.*seals the secret again/)
  await bob.good(['sync'])
  assert.equal((await good(['sync'])).err, '')
  const { words } = await bob.json('code', id)
  assert.equal((await restored(['verify'], { env, input: words })).code, EXIT.ok)

  // The original device still runs: it detects the renewal by its copy.
  const atWork = /Another copy of this device's keys is in use/
  assert.match((await ada.on(['sync'])).err, atWork)
  assert.match((await ada.on(['status'])).out, atWork)
  const { out } = await ada.on(['doctor'])
  assert.match(out, /fail +account +Another copy of this device's keys is in use/)
  assert.match((await ada.on(['device', 'renew'])).err, atWork)
})

/** The state folder in the settings of all users is the service's, except for its owner. */
import assert from 'node:assert/strict'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isForSystem } from '../../../src/cli/system-instance.ts'
import { readConfig } from '../../../src/config/config.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'

test('the folder of the settings for all users belongs to the service, except for its owner', (t) => {
  const root = freshFolder(t)
  const [stateDir, unit, settingsFile] = ['state', 'unit', 'settings'].map((name) =>
    join(root, name),
  ) as [string, string, string]
  mkdirSync(stateDir, { mode: 0o700 })
  writeFileSync(unit, '')
  writeFileSync(settingsFile, `SVC_STATE_DIR=${stateDir}\n`)
  const os = {
    platform: 'linux',
    homedir: () => root,
    settingsFile,
    system: { runtime: join(root, 'run'), state: join(root, 'usual'), units: [unit] },
  } as const
  const { uid } = statSync(stateDir)
  const [owner, other] = [uid === 0 ? null : uid, uid + 1]
  const shared = readConfig({}, os)
  assert.equal(isForSystem(shared, other), true)
  assert.equal(isForSystem(shared, 0), true)
  if (owner !== null) assert.equal(isForSystem(shared, owner), false)
  // A folder that the user names is always the user's own.
  assert.equal(isForSystem(readConfig({ SVC_STATE_DIR: stateDir }, os), other), false)
})

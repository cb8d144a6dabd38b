import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { requireBackupFolder } from '../../../src/cli/backup/folder.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'

describe('the folder of scheduled backups', () => {
  it('may be reached by a link', (t) => {
    const place = freshFolder(t)
    const link = join(place, 'link')
    symlinkSync(freshFolder(t), link)
    assert.equal(requireBackupFolder(link, place), link)
  })

  it('may be any folder if the state folder cannot be reached', (t) => {
    const folder = freshFolder(t)
    assert.equal(requireBackupFolder(folder, join(folder, 'none', 'state')), folder)
  })

  const WAYS: [name: string, of: (place: string, state: string) => string][] = [
    ['the state folder', (_, state) => state],
    ['a folder in it', (_, state) => join(state, 'backups')],
    ['a folder in it with a name that begins with two dots', (_, state) => join(state, '..old')],
    ['a link to a folder in it', (place) => join(place, 'link')],
  ]
  for (const [name, of] of WAYS)
    it(`is not ${name}`, (t) => {
      const place = freshFolder(t)
      const state = join(place, 'state')
      for (const name of ['backups', '..old']) mkdirSync(join(state, name), { recursive: true })
      symlinkSync(join(state, 'backups'), join(place, 'link'))
      assert.throws(() => requireBackupFolder(of(place, state), state), /is in the state folder/)
    })
})

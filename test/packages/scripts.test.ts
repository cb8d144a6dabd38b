/** The scripts of the Debian package: they are valid, and name the paths that the service uses. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { SEALING_KEY } from '../../src/cli/service/install.ts'
import {
  PACKAGED_PROGRAM,
  STATE_LINK,
  SYSTEM_STATE,
  packagedUnit,
} from '../../src/cli/service/systemd.ts'
import { SYSTEM } from '../../src/config/config.ts'
import { exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const FOLDER = join(import.meta.dirname, '../../build/release/debian')
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

describe('the scripts of the package', () => {
  for (const name of ['postinst', 'prerm', 'postrm'])
    it(`${name} is valid and stops at the first error`, async () => {
      const { code, stderr } = await exec('sh', ['-n', join(FOLDER, name)])
      assert.equal(code, 0, stderr)
      assert.match(textOf(name), /^set -e$/m)
    })

  it('purge what the service writes', () => {
    const purged = textOf('postrm')
    for (const path of [SYSTEM_STATE, STATE_LINK, SYSTEM.runtime, SEALING_KEY])
      assert(purged.includes(`"$ROOT${path}"`), path)
  })

  it('purge the timers of backups that run the program of the package, and no others', async (t) => {
    const root = freshFolder(t)
    const folder = join(root, 'etc/systemd/system')
    mkdirSync(join(folder, 'timers.target.wants'), { recursive: true })
    for (const [id, path] of [
      ['own', PACKAGED_PROGRAM],
      ['other', '/usr/local/bin/countersignd'],
    ]) {
      const name = `countersignd-backup-${id}`
      writeFileSync(join(folder, `${name}.service`), `ExecStart=${path} backup --scheduled\n`)
      writeFileSync(join(folder, `${name}.timer`), '')
      symlinkSync(`../${name}.timer`, join(folder, 'timers.target.wants', `${name}.timer`))
    }
    // The accounts and the services of the machine are not those of this folder.
    const PATH = join(root, 'bin')
    mkdirSync(PATH)
    for (const name of ['rm', 'rmdir', 'grep', 'basename', 'sh'])
      symlinkSync(`/bin/${name}`, join(PATH, name))
    writeFileSync(join(PATH, 'getent'), '#!/bin/sh\nexit 2\n', { mode: 0o755 })
    const { code, stderr } = await exec('/bin/sh', [join(FOLDER, 'postrm'), 'purge'], {
      env: { PATH, DPKG_ROOT: root },
    })
    assert.equal(code, 0, stderr)
    assert.deepEqual(readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted(), [
      'countersignd-backup-other.service',
      'countersignd-backup-other.timer',
      'timers.target.wants',
      'timers.target.wants/countersignd-backup-other.timer',
    ])
  })

  it('install a unit that runs the program of the package as the user of the package', () => {
    const unit = packagedUnit()
    assert.match(unit, /^ExecStart=\/usr\/bin\/countersignd serve$/m)
    const [, user] = /^User=(.+)$/m.exec(unit) ?? []
    assert.match(textOf('countersign.sysusers'), new RegExp(`^u ${user} - `, 'm'))
  })
})

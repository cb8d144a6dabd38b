/** The scripts of the Debian package: they are valid, and name the paths that the service uses. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { SEALING_KEY } from '../../src/cli/service/install.ts'
import { STATE_LINK, SYSTEM_STATE, packagedUnit } from '../../src/cli/service/systemd.ts'
import { SYSTEM } from '../../src/config/config.ts'
import { exec } from '../e2e/program.ts'

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

  it('install a unit that runs the program of the package as the user of the package', () => {
    const unit = packagedUnit()
    assert.match(unit, /^ExecStart=\/usr\/bin\/countersignd serve$/m)
    const [, user] = /^User=(.+)$/m.exec(unit) ?? []
    assert.match(textOf('countersign.sysusers'), new RegExp(`^u ${user} - `, 'm'))
  })
})

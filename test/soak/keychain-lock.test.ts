/**
 * The system’s keychain is locked, or stops, while a daemon runs: in a session of its own, with a
 * real Secret Service.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lacking } from '../installed.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { bareEnvironment, noSession, session } from '../keychain/session.ts'

/**
 * A bus that starts no service on demand. Otherwise a call made while the service is gone starts
 * a locked one, which may hold the name when the unlocked one starts.
 */
const BUS = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`

const skip = noSession || lacking('dbus-send')

test(
  'each call reports the lock, nothing is lost or stored elsewhere, and everything works afterwards',
  { skip },
  (t) => {
    const script = join(import.meta.dirname, 'keychain-lock.session.ts')
    const folder = freshFolder(t)
    const bus = join(folder, 'bus.conf')
    writeFileSync(bus, BUS)
    const [program, ...words] = session(process.execPath, '--test-reporter=tap', script)
    const { status, stdout, stderr } = spawnSync(program, [`--config-file=${bus}`, ...words], {
      env: bareEnvironment(folder),
      encoding: 'utf8',
      timeout: 100_000,
    })
    assert.equal(status, 0, `${stdout}\n${stderr}`)
  },
)

/** The timers of scheduled backups: accepted by the tools of each system, with any path in them. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { PLATFORMS } from '../../../src/cli/service/definition.ts'
import { encoded } from '../../../src/cli/service/install.ts'
import { timerOf } from '../../../src/cli/service/timer.ts'
import type { TimerSettings } from '../../../src/cli/service/timer-settings.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'

const SCOPES = ['user', 'system'] as const
const WANTED: TimerSettings = {
  scope: 'system',
  program: ['/usr/local/bin/countersignd'],
  home: '/home/anna',
  uid: 501,
  env: { USERNAME: 'anna', USERDOMAIN: 'OFFICE' },
  id: 'abcdefgh',
  at: '03:05',
  folder: '/mnt/backup',
  stateDir: null,
}

const without = (tool: string) =>
  spawnSync(tool, ['--version']).error === undefined ? false : `${tool} is not installed`

const ODD = ['/mnt/a b', '/mnt/50%n', '/mnt/$HOME', '/mnt/größe', '/mnt/semi;colon#1']

describe('the timers of systemd', () => {
  it('run the command daily, after the mount, and make up for a missed run', () => {
    const { name, files, start, end } = timerOf('linux', { ...WANTED, stateDir: '/srv/state' })
    const [service, timer] = files.map(({ content }) => content)
    assert.equal(name, 'countersignd-backup-abcdefgh.timer')
    assert.match(timer!, /^OnCalendar=\*-\*-\* 03:05:00$/m)
    assert.match(timer!, /^Persistent=yes$/m)
    assert.match(service!, /^RequiresMountsFor=\/mnt\/backup$/m)
    assert.match(service!, /^ConditionFileIsExecutable=\/usr\/local\/bin\/countersignd$/m)
    assert.match(service!, /^ExecStart=\/usr\/local\/bin\/countersignd backup --scheduled$/m)
    assert.match(service!, /^Environment=SVC_STATE_DIR=\/srv\/state$/m)
    assert.match(service!, /^ReadWritePaths=\/mnt\/backup$/m)
    assert.equal(start.at(-1)?.join(' '), `systemctl restart ${name}`)
    assert.equal(end[0]?.join(' '), `systemctl disable --now ${name}`)
  })

  it('name the state folder as it is: Environment= has no variables', () => {
    const { files } = timerOf('linux', { ...WANTED, stateDir: '/srv/$HOME/50%n "a"' })
    const line = String.raw`Environment="SVC_STATE_DIR=/srv/$HOME/50%%n \"a\""`
    assert(files[0]!.content.split('\n').includes(line))
  })

  it('reject a folder that a unit cannot contain', () => {
    for (const folder of ['/mnt/two\nlines', '/mnt/"a"', '/mnt/a\\b'])
      assert.throws(() => timerOf('linux', { ...WANTED, folder }), /systemd does not accept/)
  })

  for (const scope of SCOPES)
    it(
      `contain nothing unknown to systemd, with any path: ${scope}`,
      { skip: without('systemd-analyze') },
      (t) => {
        const root = freshFolder(t)
        const program = join(root, 'countersignd')
        writeFileSync(program, '#!/bin/sh\n')
        chmodSync(program, 0o755)
        for (const odd of ODD) {
          const wanted = {
            ...WANTED,
            scope,
            program: [program],
            folder: odd,
            stateDir: odd,
          } as const
          const { files } = timerOf('linux', wanted)
          const paths = files.map(({ path, content }) => {
            const file = join(root, path.split('/').at(-1)!)
            writeFileSync(file, content)
            return file
          })
          const { status, stderr } = spawnSync(
            'systemd-analyze',
            [
              ...(scope === 'user' ? ['--user'] : []),
              '--man=no',
              '--recursive-errors=no',
              'verify',
              ...paths,
            ],
            { encoding: 'utf8', env: { ...process.env, XDG_RUNTIME_DIR: root } },
          )
          assert.deepEqual({ odd, status, stderr }, { odd, status: 0, stderr: '' })
        }
      },
    )
})

describe('the timers of the other systems', { skip: without('xmllint') }, () => {
  for (const platform of PLATFORMS.filter((name) => name !== 'linux'))
    it(`are XML with the command and the time: ${platform}`, (t) => {
      const file = join(freshFolder(t), 'timer')
      mkdirSync(join(file, '..'), { recursive: true })
      const program = ['/opt/a&b <c>/countersignd'] as const
      const [made] = timerOf(platform, { ...WANTED, scope: 'user', program }).files
      writeFileSync(file, encoded(made!))
      const read = (xpath: string) =>
        execFileSync('xmllint', ['--nonet', '--xpath', xpath, file], { encoding: 'utf8' }).trim()
      if (platform === 'win32') {
        const at = (name: string) => read(`string(//*[local-name()="${name}"])`)
        assert.match(
          at('Arguments'),
          /^--headless "\/opt\/a&b <c>\/countersignd" backup --scheduled$/,
        )
        assert.match(at('StartBoundary'), /T03:05:00$/)
        assert.equal(at('StartWhenAvailable'), 'true')
        return
      }
      const after = (key: string) => `//key[.="${key}"]/following-sibling::*[1]`
      assert.equal(read(`string(${after('ProgramArguments')}/string[1])`), program[0])
      assert.equal(read(`string(${after('ProgramArguments')}/string[3])`), '--scheduled')
      assert.equal(read(`string(${after('Hour')})`), '3')
      assert.equal(read(`string(${after('Minute')})`), '5')
    })

  it('do not exist elsewhere', () => {
    assert.throws(() => timerOf('freebsd', WANTED), /no timers for freebsd/)
  })
})

/** `backup --schedule` and `--scheduled`, on machines in memory and with faults. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, describe, it } from 'node:test'
import { backupName, deleteIncomplete, deleteOldest } from '../../../src/cli/backup/folder.ts'
import { scheduleBackups, unscheduleBackups } from '../../../src/cli/backup/schedule.ts'
import { withApi } from '../../../src/cli/api.ts'
import { newCopyMark } from '../../../src/cli/as-of.ts'
import type { Invocation } from '../../../src/cli/command.ts'
import { readConfig } from '../../../src/config/config.ts'
import { EXIT } from '../../../src/errors.ts'
import { scheduleFault } from '../../../src/state/backup-schedule.ts'
import { caller, newToken } from '../../e2e/caller.ts'
import { environment } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { noSmallDisk, smallDisk } from '../../soak/small-disk.ts'
import { fakeMachine, type Wish } from '../service/fake-machine.ts'
import { daemonHere, streams, terminal } from '../terminal.ts'

const PASSPHRASE = 'fünf Wörter, die niemand rät'

/** Starts a daemon, and returns its terminal and a folder for backups. */
async function withDaemon(t: TestContext) {
  const [stateDir, folder] = [freshFolder(t), freshFolder(t)]
  const daemon = await daemonHere(stateDir)
  t.after(() => daemon.close())
  return { stateDir, folder, daemon, run: terminal(stateDir) }
}

/** Schedules or unschedules backups on a machine in memory. */
async function schedule(
  stateDir: string,
  wish: Wish,
  options: Record<string, string>,
): Promise<ReturnType<typeof fakeMachine> & { answer: unknown }> {
  const fake = fakeMachine({ uid: 1000, home: '/home/anna', ...wish })
  const { io } = streams({ input: PASSPHRASE })
  const env = environment(stateDir)
  const own = { ...io, env }
  const config = () => readConfig(env)
  let answer: unknown
  const invocation: Invocation = {
    options: { 'passphrase-fd': '0', ...options },
    args: [],
    called: (id) => id,
    io: own,
    config,
    json: true,
    withApi: (work) => withApi(config(), own, work, newCopyMark(own, true).note),
    print: (printed) => void (answer = printed),
    say: () => undefined,
    started: () => undefined,
    pause: () => assert.fail('it waits for nobody'),
  }
  const act = options['schedule'] === 'off' ? unscheduleBackups : scheduleBackups
  await act(invocation, () => fake.machine)
  return { ...fake, answer }
}

describe('backup --schedule', () => {
  it('sets a timer, changes it, and removes it', async (t) => {
    const { stateDir, folder, run } = await withDaemon(t)
    const first = await schedule(stateDir, {}, { schedule: '03:00', to: folder })
    const { id, timer, keep } = first.answer as { id: string; timer: string; keep: number }
    assert.deepEqual([timer, keep], [`countersignd-backup-${id}.timer`, 14])
    const units = `/home/anna/.config/systemd/user/countersignd-backup-${id}`
    assert.deepEqual(first.deeds, [
      'systemctl --user show --property=Version',
      `systemctl --user disable --now ${timer}`,
      `write ${units}.service 644`,
      `write ${units}.timer 644`,
      'systemctl --user daemon-reload',
      `systemctl --user enable ${timer}`,
      `systemctl --user restart ${timer}`,
    ])
    assert(first.text(`${units}.service`).includes(`Environment=SVC_STATE_DIR=${stateDir}\n`))
    for (const text of first.files.keys()) assert.doesNotMatch(first.text(text), /niemand/)
    assert.deepEqual(readdirSync(folder), [`.countersign-${id}`])

    const again = await schedule(stateDir, {}, { schedule: '04:30', to: folder, keep: '2' })
    assert.partialDeepStrictEqual(again.answer, { id, at: '04:30', keep: 2 })
    const status = JSON.parse((await run(['status', '--json'])).out)
    assert.deepEqual(status.scheduled_backup, {
      at: '04:30',
      keep: 2,
      last_success_at: null,
      fault: null,
    })
    const { out } = await run(['doctor', '--json'])
    assert.match(out, /daily at 04:30 to .*, 2 kept; none was made yet/)

    const files = Object.fromEntries([...first.files.keys()].map((path) => [path, '']))
    const off = await schedule(stateDir, { files }, { schedule: 'off' })
    assert.equal(off.files.size, 0)
    assert(off.deeds.includes(`systemctl --user disable --now ${timer}`))
    assert.deepEqual(readdirSync(folder), [])
  })

  it('without a service manager, stores the schedule and writes no unit', async (t) => {
    const { stateDir, folder } = await withDaemon(t)
    const answer = () => ({ code: 1, out: '', err: 'no bus' })
    const made = await schedule(stateDir, { answer }, { schedule: '03:00', to: folder })
    assert.equal((made.answer as { timer: unknown }).timer, null)
    assert.equal(made.files.size, 0)
  })

  it('a timer of root runs only a program that nobody else can replace', async (t) => {
    const { stateDir, folder } = await withDaemon(t)
    const seen = { uid: 1000, mode: 0o755, isFolder: false, isLink: false }
    const wish = { uid: 0, lstat: () => seen }
    await assert.rejects(schedule(stateDir, wish, { schedule: '03:00', to: folder }), {
      exit: EXIT.stateUnsafe,
      message: /belongs to user 1000, who could replace the program/,
    })
    assert.deepEqual(readdirSync(folder), [])
  })

  it('rejects wrong options before it asks for a passphrase', async (t) => {
    const { stateDir, folder, run } = await withDaemon(t)
    const cases: [args: string[], code: number, says: RegExp][] = [
      [[], EXIT.usage, /Name a file, or schedule/],
      [['FILE', '--scheduled'], EXIT.usage, /Name a file, or schedule/],
      [['FILE', '--keep', '3'], EXIT.usage, /--to and --keep have an effect only with --schedule/],
      [['--schedule', '03:00'], EXIT.usage, /needs --to/],
      [['--schedule', '3:00', '--to', folder], EXIT.usage, /a time such as 03:00/],
      [['--schedule', '24:00', '--to', folder], EXIT.usage, /a time such as 03:00/],
      [['--schedule', '03:00', '--to', folder, '--keep', '0'], EXIT.usage, /from 1 to 1000/],
      [['--schedule', '03:00', '--to', `${folder}/none`], EXIT.failed, /There is no folder/],
      [['--schedule', '03:00', '--to', stateDir], EXIT.failed, /is in the state folder/],
      [['--scheduled'], EXIT.failed, /No backups are scheduled/],
    ]
    for (const [args, code, says] of cases) {
      const ended = await run(['backup', ...args])
      assert.deepEqual([args, ended.code], [args, code])
      assert.match(ended.err, says)
    }
  })
})

describe('backup --scheduled', () => {
  it('deletes nothing while a secret of the device is damaged', async (t) => {
    const { stateDir, folder, daemon, run } = await withDaemon(t)
    await schedule(stateDir, {}, { schedule: '03:00', to: folder, keep: '1' })
    const call = caller(daemon.address, (await newToken(daemon.address)).token)
    for (const name of ['Bank', 'Club']) await call('POST /api/v1/connections', { name })
    assert.equal((await run(['backup', '--scheduled'])).code, EXIT.ok)
    const db = new DatabaseSync(join(stateDir, 'state.db'))
    db.exec("update secrets set sealed = x'00' where id = (select min(id) from secrets)")
    db.close()
    const broken = await run(['backup', '--scheduled'])
    assert.equal(broken.code, EXIT.failed)
    assert.match(broken.err, /encrypted secrets of this device are damaged.*No earlier backup/)
    assert.equal(readdirSync(folder).filter((name) => name.endsWith('.backup')).length, 2)
  })

  it(
    'a full disk: no file is left, no earlier one is deleted',
    { skip: noSmallDisk },
    async (t) => {
      const { stateDir, run } = await withDaemon(t)
      const disk = smallDisk(t, 8 << 20)
      const folder = join(disk.stateDir, 'backups')
      mkdirSync(folder)
      await schedule(stateDir, {}, { schedule: '03:00', to: folder, keep: '1' })
      assert.equal((await run(['backup', '--scheduled'])).code, EXIT.ok)
      const before = readdirSync(folder)
      disk.fill(100_000)
      const full = await run(['backup', '--scheduled'])
      assert.equal(full.code, EXIT.failed)
      assert.match(full.err, /The disk of .* is full. No backup was made, and no earlier one/)
      assert.deepEqual(readdirSync(folder), before)
      disk.free()
      assert.equal((await run(['backup', '--scheduled'])).code, EXIT.ok)
      const { scheduled_backup: good } = JSON.parse((await run(['status', '--json'])).out)
      assert.equal(good.fault, null)
    },
  )
})

describe('the rotation', () => {
  it('deletes the files that were made first, whatever the clock was', (t) => {
    const folder = freshFolder(t)
    // The clock was ahead when the first file was made.
    const files = ['2031', '2026', '2027'].map((year) =>
      backupName('abcdefgh', new Date(`${year}-01-01T00:00:00Z`)),
    )
    const other = backupName('zzzzzzzz', new Date(0))
    for (const name of [...files, other]) writeFileSync(join(folder, name), '')
    assert.deepEqual(deleteOldest(folder, files, 2), [files[0]])
    assert.deepEqual(new Set(readdirSync(folder)), new Set([files[1], files[2], other]))
  })

  it('a file that the user moved away counts no more, and a folder is not deleted', (t) => {
    const folder = freshFolder(t)
    const files = [1, 2, 3, 4].map((day) => backupName('abcdefgh', new Date(day * 86_400_000)))
    for (const name of files.slice(1)) writeFileSync(join(folder, name), '')
    rmSync(join(folder, files[1]!))
    mkdirSync(join(folder, files[1]!))
    assert.deepEqual(deleteOldest(folder, files, 2), [files[0], files[1]])
    assert.deepEqual(readdirSync(folder).toSorted(), files.slice(1))
  })
})

it('the next backup deletes what a killed one left, and nothing else', async (t) => {
  const folder = freshFolder(t)
  const kept = ['countersign-a-1.backup', 'countersign-b-1.backup.0.part', 'holiday.part']
  for (const name of [...kept, 'countersign-a-1.backup.0.part', 'countersign-a-2.backup.1.part']) {
    writeFileSync(join(folder, name), '')
    // The last one is being written.
    if (!name.includes('a-2')) utimesSync(join(folder, name), 0, 0)
  }
  deleteIncomplete(folder, 'a', Date.now())
  assert.deepEqual(
    readdirSync(folder).toSorted(),
    [...kept, 'countersign-a-2.backup.1.part'].toSorted(),
  )
})

describe('the state of the schedule', () => {
  const NOW = Date.parse('2026-06-10T12:00:00.000Z')
  const at = (days: number) => new Date(NOW - days * 86_400_000).toISOString()
  const made = { id: 'abcdefgh', at: '03:00', folder: '/b', keep: 1, files: [] }
  const cases: [name: string, set: number, success: number | null, says: RegExp | null][] = [
    ['just set', 0, null, null],
    ['never made for three days', 3, null, /^was never made since/],
    ['made yesterday', 9, 1.2, null],
    ['made three days ago', 9, 3, /^was last made at/],
    ['made in the future', 9, -1, /is in the future: check the clock/],
  ]
  for (const [name, set, success, says] of cases)
    it(`${name}: ${says === null ? 'good' : 'a fault'}`, () => {
      const last_success_at = success === null ? null : at(success)
      const fault = scheduleFault(
        { ...made, set_at: at(set), last_success_at, last_failure: null },
        NOW,
      )
      if (says === null) assert.equal(fault, null)
      else assert.match(fault ?? '', says)
    })
})

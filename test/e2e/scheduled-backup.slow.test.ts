/**
 * A scheduled backup, made by real processes as a timer runs them, and restored on a new machine:
 * both machines have the same words in the same minute.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { ROOT, countersignd, startDaemon } from './program.ts'

const PASSPHRASE = 'five words that nobody guesses'

interface Words {
  readonly words: string
  readonly valid_until: string
}

/** Whether only root can change a folder and the folders that contain it. */
function isRoots(folder: string): boolean {
  const { uid, mode } = statSync(folder)
  if (uid !== 0 || (mode & 0o022) !== 0) return false
  return folder === dirname(folder) || isRoots(dirname(folder))
}

const skip =
  process.getuid?.() === 0 && !isRoots(ROOT)
    ? `root runs no program daily that others can change: ${ROOT}`
    : false

test(
  'a scheduled backup is tested, rotated and restored on another machine',
  { skip },
  async (t) => {
    const root = freshFolder(t)
    const at = (name: string) => join(root, name)
    for (const name of ['disk', 'bin', 'old', 'new']) mkdirSync(at(name), { mode: 0o700 })
    // The test must not set a timer of this machine.
    writeFileSync(join(at('bin'), 'systemctl'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const env = { PATH: `${at('bin')}:${process.env['PATH']}` }
    const old = await startDaemon(at('old'))
    t.after(() => old.end('SIGTERM'))
    const run = async (dir: string, ...args: string[]) => {
      const ended = await countersignd(args, at(dir), { env, input: `${PASSPHRASE}\n` })
      return { ...ended, json: ended.stdout.startsWith('{') ? JSON.parse(ended.stdout) : null }
    }
    const ok = async (dir: string, ...args: string[]) => {
      const ended = await run(dir, ...args, '--json')
      assert.equal(ended.code, EXIT.ok, ended.stderr)
      return ended.json
    }
    await ok('old', 'connection', 'create', '--name', 'Bank')

    const options = [
      '--schedule',
      '03:00',
      '--to',
      at('disk'),
      '--keep',
      '1',
      '--passphrase-fd',
      '0',
    ]
    const plan = await ok('old', 'backup', ...options)
    assert.partialDeepStrictEqual(plan, { at: '03:00', folder: at('disk'), keep: 1, timer: null })
    const first = await ok('old', 'backup', '--scheduled')
    assert.deepEqual([first.tested, first.deleted], [true, []])

    // The disk is not mounted: the folder is there, and empty.
    renameSync(at('disk'), at('elsewhere'))
    mkdirSync(at('disk'))
    const away = await run('old', 'backup', '--scheduled')
    assert.equal(away.code, EXIT.failed)
    assert.match(away.stderr, /its disk is probably not mounted. No backup was made/)
    assert.deepEqual(readdirSync(at('disk')), [])
    const failed = (await run('old', 'status', '--json')).json
    assert.match(failed.scheduled_backup.fault, /^failed at .*not mounted/)
    assert.match(
      failed.needs_you[0],
      /^The scheduled backup failed.*countersignd backup --scheduled$/,
    )
    const checks = (await run('old', 'doctor', '--json')).json.checks
    assert.partialDeepStrictEqual(
      checks.find(({ name }: { name: string }) => name === 'backups'),
      { state: 'fail' },
    )
    renameSync(at('disk'), at('empty'))
    renameSync(at('elsewhere'), at('disk'))

    const foreign = `countersign-aaaaaaaa-2020-01-01T00-00-00Z.backup`
    writeFileSync(join(at('disk'), foreign), '')
    const second = await ok('old', 'backup', '--scheduled')
    assert.deepEqual(second.deleted, [first.name])
    assert.deepEqual(
      new Set(readdirSync(at('disk'))),
      new Set([`.countersign-${plan.id}`, foreign, second.name]),
    )
    const { scheduled_backup: good } = (await run('old', 'status', '--json')).json
    assert.partialDeepStrictEqual(good, { last_success_at: second.created_at, fault: null })
    for (const text of [old.log(), readFileSync(join(at('old'), 'audit.jsonl'), 'utf8')])
      assert.doesNotMatch(text, /nobody guesses/)
    assert.match(old.log(), /"event":"scheduled backup made","file":"countersign-/)
    assert.match(old.log(), /"level":"warn","event":"scheduled backup failed"/)

    // The new machine already has its settings.
    writeFileSync(join(at('new'), 'countersignd.env'), 'SVC_LOG_LEVEL=debug\n')
    await ok('new', 'restore', second.file, '--passphrase-fd', '0')
    const fresh = await startDaemon(at('new'))
    t.after(() => fresh.end('SIGTERM'))
    assert.notEqual(fresh.address, old.address)
    const words = async (dir: string): Promise<Words> => ok(dir, 'code', 'Bank')
    let [mine, theirs] = [await words('old'), await words('new')]
    // A minute may have ended between the two.
    if (mine.valid_until !== theirs.valid_until) mine = await words('old')
    assert.deepEqual([mine.words, mine.valid_until], [theirs.words, theirs.valid_until])
    // The schedule is that of the old machine, and its passphrase is not in the backup.
    assert.equal((await run('new', 'status', '--json')).json.scheduled_backup, null)

    await ok('old', 'backup', '--schedule', 'off')
    const none = await run('old', 'backup', '--scheduled')
    assert.equal(none.code, EXIT.failed)
    assert.match(none.stderr, /No backups are scheduled/)
    assert(readdirSync(at('disk')).includes(second.name))
  },
)

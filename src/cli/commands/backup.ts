/** The commands that back up this device and restore a backup. */
import type { Restored } from '../../daemon/restore.ts'
import { EXIT } from '../../errors.ts'
import type { LostSecret } from '../../daemon/folder-secrets.ts'
import { PASSPHRASE_HELP, PASSPHRASE_OPTIONS, passphraseOf } from '../backup/passphrase.ts'
import { makeBackup } from '../backup/stream.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { requireNew } from '../new-file.ts'

const ANOTHER = '"countersignd backup FILE"'

async function backUp(invocation: Invocation, path: string): Promise<void> {
  const { withApi, print, say } = invocation
  requireNew(path, ANOTHER)
  const passphrase = await passphraseOf(invocation, true)
  const { size, database } = await withApi((api) => makeBackup(api, path, passphrase, ANOTHER))
  print({ file: path, size_bytes: size, account_database: database }, path)
  say(
    `Wrote ${size} bytes. Keep the passphrase in another place: without it, the backup cannot be restored.`,
  )
  if (database === 'postgresql')
    say(
      'The account database is in PostgreSQL and is not in this backup. Stop the daemon, then make both again: this backup, and a dump of the database (pg_dump).',
    )
}

const USES =
  'Name a file, or schedule backups with --schedule, or make a scheduled one with --scheduled.'

export const backupCommand: Command = {
  usage:
    'FILE | --schedule TIME --to FOLDER [--keep N] | --schedule off | --scheduled [--passphrase-file FILE | --passphrase-fd N] [--json]',
  help: `
Writes a backup of this device to a new file: its keys and tokens, its connections and contacts, the embedded
account, and the audit log. The backup is encrypted with a passphrase of at least 12 characters, and cannot be
restored without it. The daemon can be running during the backup. To restore the backup, use
"countersignd restore FILE".

With --schedule, a timer of the system makes a backup every day. Each backup is tested: it is opened and checked as
by a restore. Then the oldest ones are deleted. The keychain stores the passphrase. "countersignd status" shows the
last result.

The backup does not contain outgoing mail. If the account database is in PostgreSQL, the backup does not contain it
either: back it up with the tools of PostgreSQL.

  --schedule TIME          make a backup every day at this time, such as 03:00; "off" ends that and keeps the files
  --to FOLDER              the folder of the scheduled backups, best on another disk
  --keep N                 how many scheduled backups are kept (default: 14)
  --scheduled              make a scheduled backup now, as the timer does
${PASSPHRASE_HELP} (default: you type it twice)`,
  examples: {
    'backup countersign.backup': 'ask for a passphrase, and write the backup',
    'backup --schedule 03:00 --to /mnt/backup --keep 14': 'every night; ask for a passphrase',
    'backup countersign.backup --passphrase-fd 3': 'read the passphrase from an open descriptor',
  },
  options: {
    schedule: { type: 'string' },
    to: { type: 'string' },
    keep: { type: 'string' },
    scheduled: { type: 'boolean' },
    ...PASSPHRASE_OPTIONS,
  },
  args: [0, 1],
  check({ args, options: { schedule, scheduled, to, keep } }) {
    const uses = [args.length > 0, schedule !== undefined, scheduled === true]
    if (uses.filter((is) => is).length !== 1) throw new UsageError(USES)
    if (schedule === undefined && (to !== undefined || keep !== undefined))
      throw new UsageError('--to and --keep have an effect only with --schedule.')
  },
  async run(invocation) {
    const { args, options } = invocation
    const [path] = args
    if (path !== undefined) return backUp(invocation, path)
    if (options['scheduled'] === true)
      return (await import('../backup/scheduled.ts')).runScheduled(invocation)
    const { scheduleBackups, unscheduleBackups } = await import('../backup/schedule.ts')
    const { thisMachine } = await import('../service/machine.ts')
    return options['schedule'] === 'off'
      ? unscheduleBackups(invocation, thisMachine)
      : scheduleBackups(invocation, thisMachine)
  },
}

/** Returns what the user should do after a restore. */
function adviceFor({ server, account_database: database }: Restored): string {
  if (database === 'postgresql')
    return 'The account database was in PostgreSQL. Before you start the daemon, restore the dump of that database and set SVC_DATABASE_URL.'
  return server === null
    ? 'Start the daemon with "countersignd serve".'
    : `Start the daemon with SVC_BACKEND_URL=${server}. If the session has ended, get a new one with "countersignd login".`
}

const NAMES: Readonly<Record<LostSecret['kind'], string>> = {
  connection: 'connection',
  guest_code: 'guest code',
  public_code: 'public code',
  unknown: 'unknown record',
}

/** How many ids of guest codes the message names. The JSON output has all ids. */
const MOST_NAMED = 3

/** Returns a warning with a remedy if some encrypted secrets are damaged; null otherwise. */
function warningFor({ sealed_secrets: all, lost_secrets: lost }: Restored): string | null {
  if (lost.length === 0) return null
  const idsOf = (kind: LostSecret['kind']) =>
    lost.filter((secret) => secret.kind === kind).map(({ id }) => id)
  const kinds = (Object.keys(NAMES) as LostSecret['kind'][])
    .map((kind) => ({ kind, count: idsOf(kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => `${count} ${NAMES[kind]}${count === 1 ? '' : 's'}`)
  const guests = idsOf('guest_code')
  const named = guests.slice(0, MOST_NAMED).join(', ') + (guests.length > MOST_NAMED ? ', …' : '')
  const verb = lost.length === 1 ? 'is damaged and was' : 'are damaged and were'
  return [
    `Warning: ${lost.length} of ${all} encrypted secrets ${verb} not restored: ${kinds.join(', ')}.`,
    ...(idsOf('connection').length + idsOf('public_code').length > 0
      ? ['"countersignd sync" fetches the secrets of connections and of the public code again.']
      : []),
    ...(guests.length > 0
      ? [
          `There is no other copy of a guest code’s secret. For each lost guest code, run "countersignd guest revoke ID" (${named}), and create a new code.`,
        ]
      : []),
  ].join(' ')
}

/** Checks a backup as a restore does. The exit code is 1 if it cannot be restored completely. */
async function testBackup(invocation: Invocation, path: string): Promise<number> {
  const { print } = invocation
  const { testRestore } = await import('../../daemon/restore-test.ts')
  const tested = await testRestore(path, await passphraseOf(invocation, false))
  const { created_at: at, account, sealed_secrets: all, lost_secrets: lost } = tested
  const owner = account === null ? 'a device that was not signed in' : account
  print({ file: path, ...tested }, [
    `This backup can be restored: ${owner} as it was at ${at}.`,
    ...(lost.length === 0 ? [] : [`${lost.length} of ${all} encrypted secrets are damaged.`]),
  ])
  return lost.length === 0 ? EXIT.ok : EXIT.failed
}

export const restoreCommand: Command = {
  usage: 'FILE [--test] [--passphrase-file FILE | --passphrase-fd N] [--json]',
  help: `
Restores a backup made by "countersignd backup" into the state folder, which must be new or empty. No daemon may use
that folder. If the command fails, nothing is changed. The command does not fail if some secrets in the backup are
damaged: it leaves them out, and a warning shows how many secrets were lost, and of which kinds. The secrets are
stored in the keychain of this machine. SVC_KEYCHAIN selects the kind of keychain, as at the first start of a
daemon.

A device must never run in two places. Before you start the restored daemon, stop the original one permanently.
Changes made after the backup are lost. In particular, tokens that were revoked after the backup are valid again.

With --test, the backup is only read and checked, as by a restore. Nothing is changed.

  --test                   check the backup, and restore nothing
${PASSPHRASE_HELP} (default: you type it)`,
  examples: {
    'restore countersign.backup': 'restore it into a new state folder',
    'restore countersign.backup --test': 'check that it could be restored',
  },
  options: { test: { type: 'boolean' }, ...PASSPHRASE_OPTIONS },
  args: [1, 1],
  async run(invocation) {
    const { args, io, config, print, say } = invocation
    const [path = ''] = args
    if (invocation.options['test'] === true) return testBackup(invocation, path)
    const settings = config()
    const { requireEmpty, restore } = await import('../../daemon/restore.ts')
    requireEmpty(settings.stateDir)
    const passphrase = await passphraseOf(invocation, false)
    const restored = await restore(settings, path, passphrase)
    const { created_at: at, account } = restored
    print({ state_dir: settings.stateDir, ...restored }, settings.stateDir)
    say(
      `Restored ${account === null ? 'a device that was not signed in' : account} as it was at ${at}. ${adviceFor(restored)}\n` +
        'The original device must no longer run. Tokens that were revoked after the backup are valid again: check "countersignd token list", and revoke them again.',
    )
    const warning = warningFor(restored)
    // The warning is written even with --json, so that the user notices the loss.
    if (warning !== null) io.stderr.write(`${warning}\n`)
  },
}

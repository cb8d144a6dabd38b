/** The commands that back up this device and restore a backup. */
import { lengthOf, LONGEST, SHORTEST } from '../../api/local/backup.ts'
import type { Content } from '../../api/route.ts'
import type { Restored } from '../../daemon/restore.ts'
import type { LostSecret } from '../../daemon/sealed-secrets.ts'
import { StartError } from '../../errors.ts'
import { readPrivate } from '../../keychain/private-file.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { requireNew, writeNew } from '../new-file.ts'
import { type Prompt, withPrompt } from '../prompt.ts'

/**
 * The passphrase comes from a terminal without echo, or from a private file.
 *
 * It never comes from an argument or a variable, because other users can see those.
 */
const PASSPHRASE_OPTION = { 'passphrase-file': { type: 'string' } } as const

/** Returns why a new passphrase is rejected; null if it is accepted. */
function faultOf(passphrase: string): string | null {
  const length = lengthOf(passphrase)
  if (length < SHORTEST)
    return `The passphrase has ${length} character${length === 1 ? '' : 's'}: give it at least ${SHORTEST}, such as five words. A thief of the backup can try without a limit.`
  return passphrase.length > LONGEST ? `The passphrase is longer than ${LONGEST} characters.` : null
}

function fromFile(path: string): string {
  const text = readPrivate(path)
  if (text === null) throw new StartError('configuration', `${path} is not there.`)
  const passphrase = text.trim()
  if (passphrase === '' || /[\r\n]/.test(passphrase))
    throw new StartError(
      'configuration',
      `${path} must hold the passphrase and nothing else, on one line.`,
    )
  return passphrase
}

const given = (answer: string | null): string => {
  if (answer !== null && answer !== '') return answer
  throw new StartError('failed', 'No passphrase was given. Nothing was done.')
}

async function typed(ask: Prompt['ask'], isNew: boolean): Promise<string> {
  if (!isNew) return given(await ask('Passphrase of the backup: '))
  const passphrase = given(await ask('A new passphrase for the backup: '))
  // Check the passphrase before the user has to type it a second time.
  const fault = faultOf(passphrase)
  if (fault !== null) throw new StartError('failed', fault)
  if (given(await ask('The same passphrase again: ')) === passphrase) return passphrase
  throw new StartError('failed', 'The two were not the same. Nothing was done: try again.')
}

/**
 * Returns the passphrase.
 * @param isNew whether the passphrase is for a new backup, so that the user must type it twice and
 * it must be long enough
 * @throws StartError; UsageError if there is neither a file nor a terminal
 */
async function passphraseOf(
  { options, io }: Pick<Invocation, 'options' | 'io'>,
  isNew: boolean,
): Promise<string> {
  const path = options['passphrase-file']
  if (path !== undefined) {
    const passphrase = fromFile(String(path))
    const fault = isNew ? faultOf(passphrase) : null
    if (fault !== null) throw new StartError('failed', fault)
    return passphrase
  }
  if (io.stdin.isTTY !== true)
    throw new UsageError(
      'There is no terminal to type the passphrase at: put it into a file of mode 0600 and name that with --passphrase-file.',
    )
  return withPrompt(io, (prompt) => typed((question) => prompt.askUnseen(question), isNew))
}

const ANOTHER = '"countersignd backup FILE"'

/**
 * Returns the bytes of a body, and a function that returns the number of bytes so far.
 *
 * The body can be a stream, or a single text or buffer.
 */
function counted({ body }: Content) {
  let size = 0
  async function* bytes() {
    for await (const some of typeof body === 'string' || body instanceof Uint8Array
      ? [body]
      : body) {
      const chunk = typeof some === 'string' ? Buffer.from(some) : some
      size += chunk.length
      yield chunk
    }
  }
  return { bytes: bytes(), size: () => size }
}

export const backupCommand: Command = {
  usage: 'FILE [--passphrase-file FILE] [--json]',
  help: `
Writes a backup of this device to a new file: its keys and tokens, its connections and contacts, the embedded account, the audit
log. It is encrypted under a passphrase of at least 12 characters. Without the passphrase it cannot be read. A daemon may run
meanwhile. "countersignd restore FILE" puts it back.

Not in it: outgoing mail, and an account database in PostgreSQL, which you dump yourself.

  --passphrase-file FILE   a file of mode 0600 with the passphrase, instead of typing it twice`,
  options: PASSPHRASE_OPTION,
  args: [1, 1],
  async run(invocation) {
    const { args, withApi, print, say } = invocation
    const [path = ''] = args
    requireNew(path, ANOTHER)
    const passphrase = await passphraseOf(invocation, true)
    const { size, database } = await withApi(async (api) => {
      const content = await api.backups.create({ body: { passphrase } })
      const backup = counted(content)
      await writeNew(path, backup.bytes, ANOTHER)
      return { size: backup.size(), database: content.headers?.['account-database'] }
    })
    print({ file: path, size_bytes: size, account_database: database ?? null }, path)
    say(
      `Wrote ${size} bytes. Keep the passphrase elsewhere: without it the backup is worth nothing.`,
    )
    if (database === 'postgresql')
      say(
        "The account's database is in PostgreSQL and not in this backup: dump it too (pg_dump), with the daemon stopped for both.",
      )
  },
}

/** Returns what the user should do after a restore. */
function adviceFor({ server, account_database: database }: Restored): string {
  if (database === 'postgresql')
    return 'The account database was in PostgreSQL: restore its dump, and set SVC_DATABASE_URL, before you start the daemon.'
  return server === null
    ? 'Start it with "countersignd serve".'
    : `Start it with SVC_BACKEND_URL=${server}; if its session has ended, "countersignd login" gives it a new one.`
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
  const verb = lost.length === 1 ? 'does not open and was' : 'do not open and were'
  return [
    `Warning: ${lost.length} of ${all} sealed secrets ${verb} not restored: ${kinds.join(', ')}.`,
    ...(idsOf('connection').length + idsOf('public_code').length > 0
      ? ['"countersignd sync" fetches those of connections and of the public code again.']
      : []),
    ...(guests.length > 0
      ? [
          `The secret of a guest code is kept nowhere else: revoke the code with "countersignd guest revoke ID" (${named}) and create another.`,
        ]
      : []),
  ].join(' ')
}

export const restoreCommand: Command = {
  usage: 'FILE [--passphrase-file FILE] [--json]',
  help: `
Restores a backup of "countersignd backup" into the state folder, which must be new or empty, without a running daemon. All of
it is restored, or nothing. The secrets go to the keychain of this machine; SVC_KEYCHAIN selects it, as at a first start.

One device must not run twice: before you start the restored daemon, stop the one of the backup for good. Changes after
the backup are not in it: tokens that were revoked since are valid again.

A backup with damaged sealed secrets is restored without these: a warning names their number and kinds.

  --passphrase-file FILE   a file of mode 0600 with the passphrase, instead of typing it`,
  options: PASSPHRASE_OPTION,
  args: [1, 1],
  async run(invocation) {
    const { args, io, config, print, say } = invocation
    const [path = ''] = args
    const settings = config()
    const { requireEmpty, restore } = await import('../../daemon/restore.ts')
    requireEmpty(settings.stateDir)
    const passphrase = await passphraseOf(invocation, false)
    const restored = await restore(settings, path, passphrase)
    const { created_at: at, account } = restored
    print({ state_dir: settings.stateDir, ...restored }, settings.stateDir)
    say(
      `Restored ${account === null ? 'a device that was not signed in' : account} as it was at ${at}. ${adviceFor(restored)}\n` +
        'The device that the backup is of must not run any more. Look through "countersignd token list": what was revoked after the backup is good again.',
    )
    const warning = warningFor(restored)
    // The warning is written even with --json, so that the user notices the loss.
    if (warning !== null) io.stderr.write(`${warning}\n`)
  },
}

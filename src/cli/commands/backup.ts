/** The commands that back up this device and restore a backup. */
import { lengthOf, LONGEST, SHORTEST } from '../../api/local/backup.ts'
import type { Content } from '../../api/route.ts'
import type { Restored } from '../../daemon/restore.ts'
import type { LostSecret } from '../../daemon/folder-secrets.ts'
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
    return `The passphrase has ${length} character${length === 1 ? '' : 's'}. Choose one with at least ${SHORTEST}, such as five words: a thief who has the backup can try any number of passphrases.`
  return passphrase.length > LONGEST
    ? `The passphrase is longer than ${LONGEST} characters. Choose a shorter one.`
    : null
}

function fromFile(path: string): string {
  const text = readPrivate(path)
  if (text === null)
    throw new StartError(
      'configuration',
      `There is no file ${path}. Correct --passphrase-file, or create the file.`,
    )
  const passphrase = text.trim()
  if (passphrase === '' || /[\r\n]/.test(passphrase))
    throw new StartError('configuration', `${path} must contain only the passphrase, on one line.`)
  return passphrase
}

const given = (answer: string | null): string => {
  if (answer !== null && answer !== '') return answer
  throw new StartError('failed', 'No passphrase was given. Nothing was done.')
}

async function typed(ask: Prompt['ask'], isNew: boolean): Promise<string> {
  if (!isNew) return given(await ask('Passphrase of the backup: '))
  const passphrase = given(await ask('New passphrase for the backup: '))
  // Check the passphrase before the user has to type it a second time.
  const fault = faultOf(passphrase)
  if (fault !== null) throw new StartError('failed', fault)
  if (given(await ask('The same passphrase again: ')) === passphrase) return passphrase
  throw new StartError('failed', 'The two passphrases were different. Nothing was done. Try again.')
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
      'There is no terminal for typing the passphrase. Write it to a file of mode 0600, and add --passphrase-file with the path of that file.',
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
Writes a backup of this device to a new file: its keys and tokens, its connections and contacts, the embedded
account, and the audit log. The backup is encrypted with a passphrase of at least 12 characters, and cannot be
restored without it. The daemon can be running during the backup. To restore the backup, use
"countersignd restore FILE".

The backup does not contain outgoing mail. If the account database is in PostgreSQL, the backup does not contain it
either: back it up with the tools of PostgreSQL.

  --passphrase-file FILE   read the passphrase from this file of mode 0600 (default: you type it twice)`,
  examples: {
    'backup countersign.backup': 'ask for a passphrase, and write the backup',
    'backup countersign.backup --passphrase-file FILE': 'in a script',
  },
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
      `Wrote ${size} bytes. Keep the passphrase in another place: without it, the backup cannot be restored.`,
    )
    if (database === 'postgresql')
      say(
        'The account database is in PostgreSQL and is not in this backup. Stop the daemon, then make both again: this backup, and a dump of the database (pg_dump).',
      )
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

export const restoreCommand: Command = {
  usage: 'FILE [--passphrase-file FILE] [--json]',
  help: `
Restores a backup made by "countersignd backup" into the state folder, which must be new or empty. No daemon may use
that folder. If the command fails, nothing is changed. The command does not fail if some secrets in the backup are
damaged: it leaves them out, and a warning shows how many secrets were lost, and of which kinds. The secrets are
stored in the keychain of this machine. SVC_KEYCHAIN selects the kind of keychain, as at the first start of a
daemon.

A device must never run in two places. Before you start the restored daemon, stop the original one permanently.
Changes made after the backup are lost. In particular, tokens that were revoked after the backup are valid again.

  --passphrase-file FILE   read the passphrase from this file of mode 0600 (default: you type it)`,
  examples: {
    'restore countersign.backup': 'restore it into a new state folder',
  },
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
        'The original device must no longer run. Tokens that were revoked after the backup are valid again: check "countersignd token list", and revoke them again.',
    )
    const warning = warningFor(restored)
    // The warning is written even with --json, so that the user notices the loss.
    if (warning !== null) io.stderr.write(`${warning}\n`)
  },
}

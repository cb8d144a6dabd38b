import type { Content } from '../../api/route.ts'
import type { Command } from '../command.ts'
import { requireNew, writeNew } from '../new-file.ts'
import { PASSPHRASE_OPTION, passphraseOf } from '../passphrase.ts'

const ANOTHER = '"countersignd backup FILE"'

/**
 * Returns the bytes of a whole or streamed body, and a function that returns their count so far.
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

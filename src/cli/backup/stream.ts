/** Writes a backup that the daemon streams to a new file. */
import type { Api } from '../command.ts'
import type { Content } from '../../api/route.ts'
import { writeNew } from '../new-file.ts'

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

/**
 * Makes a backup.
 * @param option the option with which the user names another file, for a message
 * @returns its size in bytes, and where the account database is
 */
export async function makeBackup(api: Api, path: string, passphrase: string, option: string) {
  const content = await api.backups.create({ body: { passphrase } })
  const backup = counted(content)
  await writeNew(path, backup.bytes, option)
  return { size: backup.size(), database: content.headers?.['account-database'] ?? null }
}

/**
 * Creates a backup: an encrypted copy of all data of this device. The process that has locked the
 * state folder makes the backup, and continues to serve requests while it does.
 *
 * The state is captured in one turn of the event loop: the reading of both databases begins, the
 * keychain is read, and the length of the audit log is noted. Nothing else runs in between that
 * could change any of them. So a backup equals the state that a crash at that moment would have
 * left, from which every start can recover. After that, the databases are copied and the copies
 * encrypted asynchronously.
 */
import { closeSync, constants, createReadStream, fstatSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { readFacts } from '../device/identity/identity.ts'
import { secretNames } from '../device/identity/own-keys.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/backend.ts'
import { openChecked } from '../keychain/private-file.ts'
import { auditFiles } from '../storage/audit-files.ts'
import { type Contents, plainOf } from '../storage/backup-contents.ts'
import { keyOf, newHeader } from '../storage/backup-header.ts'
import { type PinnedDatabase, pinDatabase } from '../storage/database-copy.ts'
import { sealStream } from '../storage/sealed-stream.ts'
import { noteBackup } from '../state/last-backup.ts'
import type { State } from '../state/state.ts'
import { VERSION } from '../runtime/version.ts'

interface Backup {
  /**
   * Where the embedded account's database is: `sqlite` (in the backup), `postgresql` (not in the
   * backup), or `none` if the account server is remote.
   */
  readonly accountDatabase: string
  /**
   * The bytes of a backup file. A caller that does not read all of them must call the iterator's
   * `return`.
   */
  readonly bytes: AsyncIterable<Uint8Array>
}

export interface Backups {
  /**
   * Captures the current state and returns it as an encrypted backup.
   * @throws AppError in_progress while another backup is being made, keychain_locked, storage_full
   */
  create(passphrase: string): Promise<Backup>
  /** Cancels a backup in progress. */
  close(): void
}

/** An open file (`file` is its descriptor). Its first `size` bytes are part of the backup. */
interface Part {
  readonly name: string
  readonly file: number
  readonly size: number
}

/** Resources that are open during a backup. They must be closed whether it succeeds or fails. */
interface Open {
  readonly pinned: Map<string, PinnedDatabase>
  readonly parts: Part[]
  readonly copies: string[]
}

/** Returns the first `size` bytes of a file, even if the file has grown since. */
const beginningOf = ({ file, size }: Part): AsyncIterable<Buffer> | [] =>
  size === 0 ? [] : createReadStream('', { fd: file, autoClose: false, start: 0, end: size - 1 })

function openPart(dir: string, name: string): Part {
  const file = openChecked(join(dir, name), constants.O_RDONLY)
  return { name, file, size: fstatSync(file).size }
}

function release({ pinned, parts, copies }: Open): void {
  for (const database of pinned.values()) database.close()
  pinned.clear()
  for (const { file } of parts.splice(0)) closeSync(file)
  for (const path of copies.splice(0))
    for (const suffix of ['', '-journal']) rmSync(path + suffix, { force: true })
}

/**
 * Wraps a generator so that `end` is also called if the caller cancels before the first `next`. A
 * generator's own `finally` does not run in that case.
 */
function endingWith(
  bytes: AsyncGenerator<Uint8Array, void>,
  end: () => void,
): AsyncIterable<Uint8Array> {
  const iterator: AsyncIterator<Uint8Array, void> = {
    async next() {
      try {
        const next = await bytes.next()
        if (next.done === true) end()
        return next
      } catch (error) {
        end()
        throw error
      }
    },
    async return() {
      await bytes.return()
      end()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

const busy = () =>
  new AppError('in_progress', 'Another backup is in progress. Try again when it is done.')

/**
 * Returns the function that makes backups of a state folder. The process must own the folder's
 * lock.
 */
export function newBackups(of: {
  config: Pick<Config, 'stateDir' | 'backendUrl' | 'databaseUrl'>
  state: State
  keychain: Keychain
  now: () => number
}): Backups {
  const { config, state, keychain, now } = of
  const { stateDir, backendUrl, databaseUrl } = config
  const isEmbedded = backendUrl === null
  const hasAccount = isEmbedded && databaseUrl === null
  let open: Open | null = null

  function close(): void {
    if (open !== null) release(open)
    open = null
  }

  function secrets(): Record<string, string> {
    const begun = state.tokens.begun()
    const ids = [...state.tokens.all().map(({ id }) => id), ...(begun === null ? [] : [begun])]
    const named = secretNames(ids).map((name) => [name, keychain.get(name)] as const)
    return Object.fromEntries(named.filter((one): one is [string, string] => one[1] !== null))
  }

  /**
   * Captures the current state. This function is synchronous, so that nothing can change while it
   * runs.
   */
  function take({ pinned, parts }: Open): Omit<Contents, 'files'> {
    const databases = hasAccount ? ['state.db', 'account.db'] : ['state.db']
    for (const name of databases) pinned.set(name, pinDatabase(join(stateDir, name)))
    const facts = readFacts(state)
    for (const name of ['secret', ...auditFiles(stateDir)]) parts.push(openPart(stateDir, name))
    const account = pinned.get('account.db')
    return {
      written_by: VERSION,
      created_at: new Date(now()).toISOString(),
      state_version: pinned.get('state.db')?.version as number,
      account_version:
        account === undefined
          ? null
          : Number(account.value('select max(version) from schema_version')),
      account_database: isEmbedded ? (hasAccount ? 'sqlite' : 'postgresql') : null,
      account: facts?.account ?? null,
      server: facts?.server ?? null,
      secrets: secrets(),
    }
  }

  /** Copies the captured databases to temporary files, and closes the originals. */
  async function copy({ pinned, parts, copies }: Open): Promise<void> {
    for (const [name, database] of pinned) {
      const path = join(stateDir, `${name}.copy.tmp`)
      copies.push(path)
      rmSync(path, { force: true })
      await database.copyTo(path)
      database.close()
      pinned.delete(name)
      parts.unshift({ ...openPart(stateDir, `${name}.copy.tmp`), name })
    }
  }

  return {
    async create(passphrase) {
      if (open !== null) throw busy()
      const mine: Open = { pinned: new Map(), parts: [], copies: [] }
      open = mine
      try {
        const header = newHeader()
        const key = await keyOf(header, passphrase)
        const taken = take(mine)
        await copy(mine)
        const files = mine.parts.map(({ name, size }) => ({ name, size }))
        const byName = new Map(mine.parts.map((part) => [part.name, part]))
        const bytesOf = async function* (name: string) {
          yield* beginningOf(byName.get(name) as Part)
        }
        async function* bytes() {
          yield header.bytes
          yield* sealStream(key, plainOf({ ...taken, files }, bytesOf))
          try {
            noteBackup(state, taken.created_at)
          } catch {
            // The backup is complete. A full disk, for example, must not fail it.
          }
        }
        const accountDatabase = taken.account_database ?? 'none'
        return { accountDatabase, bytes: endingWith(bytes(), close) }
      } catch (error) {
        close()
        throw error
      }
    },
    close,
  }
}

/**
 * The encrypted content of a backup.
 *
 * It begins with one line of JSON, which lists the files and contains the keychain's secrets. The
 * files follow in the listed order, each with the listed size.
 */
import * as v from 'valibot'
import { ID_PREFIX, isId } from '../crypto/encoding/id.ts'
import { StartError } from '../errors.ts'

/** Matches the names of files in a backup. Other names are never written to a state folder. */
const FILE = /^(state\.db|account\.db|secret|audit(-\d{12})?\.jsonl)$/
/** The maximum length of the JSON line in bytes. Each API token needs a few hundred bytes. */
const LONGEST_LINE = 64 * 1024 * 1024
const LINE_FEED = 0x0a

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text

const size = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

// The command line displays these texts, so each must have a strict form.
const Contents = v.object({
  /** The version of the program that made the backup. */
  written_by: v.pipe(v.string(), v.regex(/^[\w.+-]{1,100}$/)),
  created_at: v.pipe(v.string(), v.isoTimestamp()),
  state_version: size,
  /**
   * The version of the embedded account server's database; null if the backup does not contain it.
   */
  account_version: v.nullable(size),
  /**
   * The kind of the embedded account server's database; null if the daemon uses a remote server.
   */
  account_database: v.nullable(v.picklist(['sqlite', 'postgresql'])),
  account: v.nullable(
    v.pipe(
      v.string(),
      v.check((text) => isId(ID_PREFIX.account, text)),
    ),
  ),
  /** The origin of the remote account server; null for the embedded one. */
  server: v.nullable(v.pipe(v.string(), v.check(isOrigin))),
  /** The entries of the keychain, by name. */
  secrets: v.record(v.string(), v.string()),
  files: v.array(v.object({ name: v.pipe(v.string(), v.regex(FILE)), size })),
})
export type Contents = v.InferOutput<typeof Contents>

/**
 * Yields the bytes to encrypt.
 *
 * `bytesOf` must yield exactly as many bytes as the file's listed size.
 */
export async function* plainOf(
  contents: Contents,
  bytesOf: (name: string) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(`${JSON.stringify(contents)}\n`)
  for (const { name } of contents.files) yield* bytesOf(name)
}

/** Returns the error for a stream that was decrypted but is not a backup. */
const strange = (path: string) =>
  new StartError('failed', `${path} opens, but does not contain a backup of this program.`)

function parse(line: Buffer, path: string): Contents {
  let value: unknown
  try {
    value = JSON.parse(line.toString())
  } catch {
    throw strange(path)
  }
  const parsed = v.safeParse(Contents, value)
  if (!parsed.success) throw strange(path)
  const { files, account_database: database, account_version: version } = parsed.output
  const names = files.map(({ name }) => name)
  const hasAccount = database === 'sqlite'
  const fits = names.includes('account.db') === hasAccount && (version !== null) === hasAccount
  if (new Set(names).size < names.length || !names.includes('state.db') || !fits)
    throw strange(path)
  return parsed.output
}

/**
 * Parses the stream that `plainOf` yields.
 * @param path the path of the backup, for messages
 * @returns the JSON line, and the bytes of each file, which must be read in order. The stream is
 * complete only when `files` has reached its end.
 * @throws StartError if the content is not a backup; and the errors of `plain`
 */
export async function contentsFrom(
  plain: AsyncIterable<Buffer>,
  path: string,
): Promise<{
  contents: Contents
  files: () => AsyncGenerator<{ name: string; bytes: AsyncGenerator<Buffer, void> }, void>
}> {
  const from = plain[Symbol.asyncIterator]()
  let buffered: Buffer = Buffer.alloc(0)
  const more = async (): Promise<Buffer | null> => {
    const { value, done } = await from.next()
    return done === true ? null : value
  }

  async function line(): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let length = 0; length <= LONGEST_LINE;) {
      const some = await more()
      if (some === null) break
      const end = some.indexOf(LINE_FEED)
      if (end !== -1) {
        buffered = some.subarray(end + 1)
        return Buffer.concat([...parts, some.subarray(0, end)])
      }
      parts.push(some)
      length += some.length
    }
    throw strange(path)
  }

  async function* take(bytes: number): AsyncGenerator<Buffer, void> {
    for (let left = bytes; left > 0;) {
      if (buffered.length === 0) {
        const some = await more()
        if (some === null) throw strange(path)
        buffered = some
      }
      const part = buffered.subarray(0, left)
      buffered = buffered.subarray(part.length)
      left -= part.length
      yield part
    }
  }

  const contents = parse(await line(), path)
  return {
    contents,
    async *files() {
      for (const { name, size: bytes } of contents.files) yield { name, bytes: take(bytes) }
      for (let rest: Buffer | null = buffered; rest !== null; rest = await more())
        if (rest.length > 0) throw strange(path)
    },
  }
}

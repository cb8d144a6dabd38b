/**
 * The unencrypted beginning of a backup file.
 *
 * It contains a line that identifies the format, and the parameters for deriving the key from the
 * passphrase. The key also depends on the header, so a changed header makes the backup unreadable.
 * `docs/backup-format.md` documents the header for authors of other programs.
 */
import { hkdfSync, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { StartError } from '../errors.ts'

/** The first line. The number is the version of the format. */
const MAGIC = 'countersign backup 1\n'
const SALT = 32
const LENGTH = MAGIC.length + 3 + SALT
const INFO = 'countersign/v1/backup'

/** The parameters of scrypt (RFC 7914): 128 MiB of memory and about half a second. */
const COST = { log2N: 17, r: 8, p: 1 } as const

interface Header {
  readonly bytes: Buffer
  readonly log2N: number
  readonly r: number
  readonly p: number
  readonly salt: Buffer
}

/** Returns a new header with a random salt. */
export function newHeader(): Header {
  const { log2N, r, p } = COST
  const salt = randomBytes(SALT)
  return { ...COST, salt, bytes: Buffer.concat([Buffer.from(MAGIC), Buffer.of(log2N, r, p), salt]) }
}

const derive = promisify<
  string,
  Buffer,
  number,
  { N: number; r: number; p: number; maxmem: number },
  Buffer
>(scrypt)

/**
 * Derives the key that encrypts the bytes after a header.
 *
 * Applies scrypt to the passphrase, and then HKDF (RFC 5869) to the result and the header.
 */
export async function keyOf(
  { bytes, log2N, r, p, salt }: Header,
  passphrase: string,
): Promise<Buffer> {
  const N = 2 ** log2N
  // The memory that RFC 7914 requires, and 1 MiB for the library itself.
  const maxmem = 128 * r * (N + p + 2) + 1024 * 1024
  const stretched = await derive(passphrase.normalize('NFC'), salt, 32, { N, r, p, maxmem })
  return Buffer.from(
    hkdfSync('sha256', stretched, Buffer.alloc(0), Buffer.concat([Buffer.from(INFO), bytes]), 32),
  )
}

const noBackup = (path: string) =>
  new StartError(
    'failed',
    `${path} is not a backup written by "countersignd backup", or is incomplete.`,
  )

/**
 * Parses the header of a file.
 * @param bytes the beginning of the file: `LENGTH` bytes, or the whole file if it is shorter
 * @throws StartError: `stateNewer` for the format of a newer program, `failed` for anything else
 */
function headerFrom(bytes: Buffer, path: string): Header {
  const kind = bytes.toString('latin1', 0, MAGIC.length)
  if (kind !== MAGIC && /^countersign backup (?:[1-9]\n|[1-9]\d)/.test(kind))
    throw new StartError(
      'stateNewer',
      `${path} was made by a newer countersignd, in another format. Restore it with that version.`,
    )
  if (kind !== MAGIC || bytes.length < LENGTH) throw noBackup(path)
  const [log2N = 0, r = 0, p = 0] = bytes.subarray(MAGIC.length)
  // The author of the file must not decide how much memory is used. These limits allow at most 256
  // MiB, and four runs.
  if (log2N < 15 || log2N > 18 || r !== 8 || p < 1 || p > 4)
    throw new StartError(
      'failed',
      `${path} names key derivation parameters that this program does not support. It was changed, or was not written by "countersignd backup".`,
    )
  return { bytes, log2N, r, p, salt: bytes.subarray(MAGIC.length + 3) }
}

/**
 * Reads the header of a backup file.
 * @returns the header, and the bytes after it
 * @throws StartError as `headerFrom`
 */
export async function readHeader(
  source: AsyncIterable<Uint8Array>,
  path: string,
): Promise<{ header: Header; rest: AsyncGenerator<Uint8Array, void> }> {
  const from = source[Symbol.asyncIterator]()
  let read = Buffer.alloc(0)
  while (read.length < LENGTH) {
    const { value, done } = await from.next()
    if (done === true) break
    read = Buffer.concat([read, value])
  }
  const header = headerFrom(read.subarray(0, LENGTH), path)
  async function* rest() {
    yield read.subarray(LENGTH)
    for (let next = await from.next(); next.done !== true; next = await from.next())
      yield next.value
  }
  return { header, rest: rest() }
}

/**
 * Reads and writes backup files as docs/backup-format.md describes them, with node:crypto and
 * without any code of src.
 */
import { createCipheriv, createDecipheriv, hkdfSync, scryptSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface Opened {
  // The result of JSON.parse.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly line: any
  readonly files: ReadonlyMap<string, Buffer>
}

const PIECE = 65_536
const HEADER = 56

const keys = new Map<string, Buffer>()

/** Returns the key of a header; each is derived once. */
function keyOf(header: Buffer, passphrase: string): Buffer {
  const name = header.toString('hex') + passphrase
  const key = keys.get(name) ?? derived(header, passphrase)
  keys.set(name, key)
  return key
}

function derived(header: Buffer, passphrase: string): Buffer {
  const [log2N = 0, r = 0, p = 0] = header.subarray(21, 24)
  const stretched = scryptSync(passphrase.normalize('NFC'), header.subarray(24), 32, {
    N: 2 ** log2N,
    r,
    p,
    maxmem: 1 << 29,
  })
  const info = Buffer.concat([Buffer.from('countersign/v1/backup'), header])
  return Buffer.from(hkdfSync('sha256', stretched, '', info, 32))
}

const nonceOf = (count: number, isLast: boolean) =>
  Buffer.from(count.toString(16).padStart(22, '0') + (isLast ? '01' : '00'), 'hex')

function piecesOf(bytes: Buffer, size: number): Buffer[] {
  const count = Math.max(1, Math.ceil(bytes.length / size))
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}

/** Decrypts a backup. Throws if a piece is not authentic. */
function plainOf(bytes: Buffer, passphrase: string): Buffer {
  const key = keyOf(bytes.subarray(0, HEADER), passphrase)
  const pieces = piecesOf(bytes.subarray(HEADER), PIECE + 16)
  return Buffer.concat(
    pieces.map((piece, i) => {
      const nonce = nonceOf(i, i === pieces.length - 1)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce)
      decipher.setAuthTag(piece.subarray(-16))
      return Buffer.concat([decipher.update(piece.subarray(0, -16)), decipher.final()])
    }),
  )
}

/** Returns the contents of a backup. */
export function openBackup(bytes: Buffer, passphrase: string): Opened {
  const plain = plainOf(bytes, passphrase)
  const end = plain.indexOf('\n')
  const line = JSON.parse(plain.toString('utf8', 0, end)) as Opened['line']
  const files = new Map<string, Buffer>()
  let from = end + 1
  for (const { name, size } of line.files) {
    files.set(name, plain.subarray(from, from + size))
    from += size
  }
  if (from !== plain.length) throw new Error('the files are not as long as the line says')
  return { line, files }
}

function sealed(header: Buffer, passphrase: string, plain: Buffer): Buffer {
  const key = keyOf(header, passphrase)
  const pieces = piecesOf(plain, PIECE)
  const parts = pieces.flatMap((piece, i) => {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(i, i === pieces.length - 1))
    return [cipher.update(piece), cipher.final(), cipher.getAuthTag()]
  })
  return Buffer.concat([header, ...parts])
}

/** Returns the backup with the same header and another plaintext. */
export const resealed = (
  bytes: Buffer,
  passphrase: string,
  change: (plain: Buffer) => Buffer,
): Buffer => sealed(bytes.subarray(0, HEADER), passphrase, change(plainOf(bytes, passphrase)))

/**
 * Returns the backup under a key that is derived in a quarter of the time, the least that a restore
 * accepts: for tests of its content.
 */
export function cheapened(bytes: Buffer, passphrase: string): Buffer {
  const header = Buffer.from(bytes.subarray(0, HEADER))
  header.writeUInt8(15, 21)
  return sealed(header, passphrase, plainOf(bytes, passphrase))
}

type Line = Opened['line']

/** Returns the backup after a change of its first line. */
export const withLine = (bytes: Buffer, passphrase: string, change: (line: Line) => void): Buffer =>
  resealed(bytes, passphrase, (plain) => {
    const end = plain.indexOf('\n')
    const line = JSON.parse(plain.toString('utf8', 0, end)) as Line
    change(line)
    return Buffer.concat([Buffer.from(JSON.stringify(line)), plain.subarray(end)])
  })

/**
 * Returns the backup with the bytes that `change` returns for each file; the first line has their
 * sizes.
 */
export const withFiles = (
  bytes: Buffer,
  passphrase: string,
  change: (name: string, bytes: Buffer) => Buffer,
): Buffer =>
  resealed(bytes, passphrase, (plain) => {
    const end = plain.indexOf('\n')
    const line = JSON.parse(plain.toString('utf8', 0, end)) as Line
    const parts: Buffer[] = []
    let at = end + 1
    for (const file of line.files) {
      const part = change(file.name, Buffer.from(plain.subarray(at, at + file.size)))
      at += file.size
      file.size = part.length
      parts.push(part)
    }
    return Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), ...parts, plain.subarray(at)])
  })

/**
 * Returns a database after a change, which may write to `sqlite_schema` (`pragma writable_schema
 * = on`).
 */
export function changedDatabase(bytes: Buffer, change: (db: DatabaseSync) => void): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-'))
  try {
    const path = join(dir, 'changed.db')
    writeFileSync(path, bytes, { mode: 0o600 })
    const db = new DatabaseSync(path, { defensive: false })
    db.exec('pragma journal_mode = delete')
    change(db)
    db.close()
    return readFileSync(path)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Releases that test accounts sign, valid and forged. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { ID_PREFIX, newId } from '../../src/crypto/encoding/id.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { platformHere } from '../../src/releases/download.ts'
import type { ReleaseKey } from '../../src/releases/release-key.ts'
import { accountOf, AT, logEntry, newDevice, sign, type TestDevice } from '../crypto/builders.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

/** The name of the executable for this machine. */
export const EXECUTABLE = `countersignd-${platformHere}`

/** An account with its key log, and the device that signs. */
export interface Signer {
  readonly account: string
  readonly log: readonly string[]
  readonly device: TestDevice
}

export function newSigner(): Signer {
  const device = newDevice()
  const account = accountOf(device)
  return { account, device, log: [logEntry(account, [], 'add', device, device)] }
}

/** Returns what the program pins of a signer. */
export const keyOf = ({ account, log }: Signer): ReleaseKey => ({ account, key_log: log })

/** Returns the stamp file of a content. */
export function stampFile(
  content: Uint8Array | string,
  { account, log, device }: Signer,
  context: string | null = 'countersignd 9.0.0',
) {
  const stamp = sign('stamp+jws', device, {
    v: 2,
    jti: newId(ID_PREFIX.stamp, AT * 1000),
    iss: account,
    dev: device.id,
    sha256: createHash('sha256').update(content).digest('base64url'),
    len: Buffer.byteLength(content),
    media_type: 'text/plain',
    iat: AT,
    clock: { source: 'local', offset_ms: 0 },
    key_log: { seq: log.length - 1, head: encodeBase64url(entryHash(log.at(-1)!)) },
    ctx: context,
    assurance: 'device',
  })
  return { stamp, key_log: log }
}

/** Returns SHA256SUMS of files. */
export const sumsOf = (files: Readonly<Record<string, string>>): string =>
  Object.entries(files)
    .map(([name, text]) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`)
    .join('')

/** The files of a release, by name. */
export const FILES: Readonly<Record<string, string>> = {
  [EXECUTABLE]: 'the program for this machine',
  'countersignd-linux-riscv64': 'the program for another machine',
  'countersignd_9.0.0_amd64.deb': 'the package',
  'LICENSES.txt': 'the licences',
  'RELEASE-NOTES.md': '# Countersign 9.0.0\n\nNotes.\n',
}

/** Writes a release; `change` replaces files of it, or removes those that are null. */
export function writeRelease(
  t: TestContext,
  signer: Signer,
  { context, change = {} }: { context?: string; change?: Record<string, string | null> } = {},
) {
  const folder = freshFolder(t)
  const sums = sumsOf(FILES)
  const files: Record<string, string | null> = {
    ...FILES,
    SHA256SUMS: sums,
    'SHA256SUMS.stamp': JSON.stringify(stampFile(sums, signer, context)),
    ...change,
  }
  for (const [name, text] of Object.entries(files))
    if (text !== null) writeFileSync(join(folder, name), text)
  return folder
}

/**
 * The key file of a machine account: a private JWK (RFC 8037), mode 0600, with its token
 * endpoint.
 */
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import * as v from 'valibot'
import { MachineKey } from '../../../api/local/index.ts'
import { machineKeyIn } from '../../../daemon/credential.ts'
import { StartError } from '../../../errors.ts'
import { syncFolder } from '../../../keychain/private-file.ts'
import { readPrivate, removeFile, writeAtomic } from '../../../keychain/private-file.ts'
import { UsageError } from '../../command.ts'

/** The content of the file before the account exists. */
const HalfKey = v.strictObject({
  ...v.pick(MachineKey, ['kty', 'crv', 'x', 'd']).entries,
  kid: v.string(),
  alg: v.literal('Ed25519'),
})
export type HalfKey = v.InferOutput<typeof HalfKey>

function parse(text: string, path: string): MachineKey {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The error of the parser may quote the key.
    throw new StartError(
      'configuration',
      `${path} is not the key file of a machine account, because it is not JSON.`,
    )
  }
  const parsed = v.safeParse(MachineKey, value)
  if (parsed.success) return parsed.output
  if (v.is(HalfKey, value))
    throw new StartError(
      'configuration',
      `${path} contains a key without a machine id, because "countersignd machine create" was interrupted. Run that command again with this file.`,
    )
  throw new StartError(
    'configuration',
    `${path} is not a key file as "countersignd machine create" writes it (fault at ${v.getDotPath(parsed.issues[0]) ?? 'the top'}).`,
  )
}

/**
 * Reads a key file.
 * @throws StartError stateUnsafe if other users could read the file, configuration if it holds no
 *   key
 */
export function readKeyFile(path: string): MachineKey {
  const text = readPrivate(path)
  if (text === null) throw new StartError('configuration', `There is no file ${path}.`)
  return parse(text, path)
}

/**
 * Returns the key that `--key-file` names, or else the credential of the service manager.
 * @throws as `readKeyFile`; UsageError if there is neither
 */
export function machineKeyFrom(
  option: string | boolean | undefined,
  credentialsDir: string | null,
): MachineKey {
  if (option !== undefined) return readKeyFile(String(option))
  const key = machineKeyIn(credentialsDir)
  if (key !== null) return key
  throw new UsageError(
    'Give --key-file with the key file of the machine account, or provide the systemd credential countersign-machine-key.',
  )
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/**
 * Checks that the folder of a file exists and is writable.
 * @throws StartError failed
 */
export function requireFolder(path: string): void {
  const folder = dirname(path)
  if (!isFolder(folder))
    throw new StartError(
      'failed',
      `The folder ${folder} for ${path} does not exist. Create it first, or name another file.`,
    )
  try {
    accessSync(folder, constants.W_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new StartError(
      'failed',
      `${path} cannot be created (${code}). Check the permissions of its folder.`,
      cause,
    )
  }
}

/**
 * Returns the key of a file without an account; null for another file.
 * Such a file is left if the answer to its registration was lost.
 */
function halfKeyIn(path: string): HalfKey | null {
  try {
    const parsed = v.safeParse(HalfKey, JSON.parse(readPrivate(path) ?? ''))
    return parsed.success ? parsed.output : null
  } catch {
    return null
  }
}

const isThere = (path: string, cause?: unknown) =>
  new StartError('failed', `The file ${path} already exists. Name another file.`, cause)

/**
 * Returns the key that an earlier run left in the file; null if there is no file.
 * An account may exist for it by now.
 * @throws StartError for any other file
 */
export function leftKey(path: string): HalfKey | null {
  // A link with a missing target counts as existing.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null
  const key = halfKeyIn(path)
  if (key === null) throw isThere(path)
  return key
}

/**
 * Writes the key to a new file of mode 0600 and syncs it to the disk.
 * @throws StartError if the file exists or cannot be created
 */
export function createKeyFile(path: string, key: HalfKey): void {
  let file: number
  try {
    // O_EXCL: never overwrites another key and follows no link.
    file = openSync(path, 'wx', 0o600)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw code === 'EEXIST'
      ? isThere(path, cause)
      : new StartError('failed', `${path} cannot be written (${code}).`, cause)
  }
  try {
    writeSync(file, `${JSON.stringify(key)}\n`)
    fsyncSync(file)
    syncFolder(dirname(path))
  } catch (cause) {
    // The key is not registered yet, and an incomplete file would block the next attempt.
    rmSync(path, { force: true })
    const { code } = cause as NodeJS.ErrnoException
    throw new StartError('failed', `${path} cannot be written (${code}).`, cause)
  } finally {
    closeSync(file)
  }
}

/** Replaces the file with the key and its account. */
export const completeKeyFile = (path: string, key: HalfKey & MachineKey): void =>
  writeAtomic(path, `${JSON.stringify(key)}\n`)

/** Removes the file of a key that was not registered. */
export const dropKeyFile = (path: string): void => void removeFile(path)

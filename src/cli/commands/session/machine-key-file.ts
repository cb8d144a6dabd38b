/**
 * The key file of a machine account: a private JWK (RFC 8037) with its token endpoint, mode 0600.
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

/** The content of the file before the machine account exists. */
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
    // The parser's error could quote the key, so it is not passed on as the cause.
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
 * @throws StartError `stateUnsafe` if other users could read the file, `configuration` if it does
 * not contain a key
 */
export function readKeyFile(path: string): MachineKey {
  const text = readPrivate(path)
  if (text === null) throw new StartError('configuration', `There is no file ${path}.`)
  return parse(text, path)
}

/**
 * Returns the key in the file that `--key-file` names, or the service manager's credential.
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
 * @throws StartError `failed`
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
 * Returns the key in a file that names no account; null for any other file.
 *
 * Such a file remains if the answer to the registration of its key was lost.
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
 *
 * The account for this key may exist.
 * @throws StartError for any other file
 */
export function leftKey(path: string): HalfKey | null {
  // A link to a missing file counts as an existing file.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null
  const key = halfKeyIn(path)
  if (key === null) throw isThere(path)
  return key
}

/**
 * Writes the key to a new file of mode 0600 and syncs the file to the disk.
 * @throws StartError if the file exists or cannot be created
 */
export function createKeyFile(path: string, key: HalfKey): void {
  let file: number
  try {
    // O_EXCL: the call never overwrites another key and does not follow links.
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
    // The key has not been registered, and an incomplete file would block the next attempt.
    rmSync(path, { force: true })
    const { code } = cause as NodeJS.ErrnoException
    throw new StartError('failed', `${path} cannot be written (${code}).`, cause)
  } finally {
    closeSync(file)
  }
}

/** Replaces the content of the file with the key and its machine account. */
export const completeKeyFile = (path: string, key: HalfKey & MachineKey): void =>
  writeAtomic(path, `${JSON.stringify(key)}\n`)

/** Removes the file of a key that was not registered. */
export const dropKeyFile = (path: string): void => void removeFile(path)

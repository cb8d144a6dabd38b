/** The key file of a machine account: a private JWK (RFC 8037) for nobody but its user, that also says where it is good. */
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
import { readPrivate, removeFile, writeAtomic } from '../../../storage/folder.ts'
import { UsageError } from '../../command.ts'

/** What is written before the account is there. */
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
    // What a parser says of it may quote the key.
    throw new StartError('configuration', `${path} is not JSON: it is no key of a machine account.`)
  }
  const parsed = v.safeParse(MachineKey, value)
  if (parsed.success) return parsed.output
  if (v.is(HalfKey, value))
    throw new StartError(
      'configuration',
      `${path} holds a key without its machine’s id, because "countersignd machine create" was cut off: repeat that command, with this file.`,
    )
  throw new StartError(
    'configuration',
    `${path} is not the key of a machine account as "countersignd machine create" writes it (at ${v.getDotPath(parsed.issues[0]) ?? 'the top'}).`,
  )
}

/** Read a key file. Throws StartError: stateUnsafe for one that others could read, configuration for one that is no key. */
export function readKeyFile(path: string): MachineKey {
  const text = readPrivate(path)
  if (text === null) throw new StartError('configuration', `${path} is not there.`)
  return parse(text, path)
}

/**
 * The key that `--key-file` names, else the service manager's credential.
 * @throws as `readKeyFile`; UsageError where neither is given
 */
export function machineKeyFrom(
  option: string | boolean | undefined,
  credentialsDir: string | null,
): MachineKey {
  if (option !== undefined) return readKeyFile(String(option))
  const key = machineKeyIn(credentialsDir)
  if (key !== null) return key
  throw new UsageError(
    "--key-file names the machine account's key; give one, or the systemd credential countersign-machine-key.",
  )
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Throws StartError for a file whose folder takes none. */
export function demandFolder(path: string): void {
  const folder = dirname(path)
  if (!isFolder(folder))
    throw new StartError(
      'failed',
      `There is no folder ${folder} for ${path}: make it first, or name another file.`,
    )
  try {
    accessSync(folder, constants.W_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new StartError('failed', `${path} cannot be written into its folder (${code}).`, cause)
  }
}

/** The key of a file, where it is one without its account yet: whoever wrote it never heard whether the account was made. */
function halfKeyIn(path: string): HalfKey | null {
  try {
    const parsed = v.safeParse(HalfKey, JSON.parse(readPrivate(path) ?? ''))
    return parsed.success ? parsed.output : null
  } catch {
    return null
  }
}

const isThere = (path: string, cause?: unknown) =>
  new StartError('failed', `${path} is there already: name another file.`, cause)

/**
 * The key that an earlier run left in the file, which may be an account's by now; null where there is no file.
 * @throws StartError for a file that is anything else
 */
export function leftKey(path: string): HalfKey | null {
  // Also a link that leads nowhere is something.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null
  const key = halfKeyIn(path)
  if (key === null) throw isThere(path)
  return key
}

/** Write the key to a new file of mode 0600, to the disk. Throws StartError for a file that is there, or cannot be made. */
export function createKeyFile(path: string, key: HalfKey): void {
  let file: number
  try {
    // Never over another key, nor through a link: with O_EXCL neither is followed.
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
    // Nobody has heard of the key yet, and half a file would stand in the way of the next attempt.
    rmSync(path, { force: true })
    const { code } = cause as NodeJS.ErrnoException
    throw new StartError('failed', `${path} cannot be written (${code}).`, cause)
  } finally {
    closeSync(file)
  }
}

/** Replace the file by the key with its account. */
export const completeKeyFile = (path: string, key: HalfKey & MachineKey): void =>
  writeAtomic(path, `${JSON.stringify(key)}\n`)

/** Remove the file of a key that nobody registered. */
export const dropKeyFile = (path: string): void => void removeFile(path)

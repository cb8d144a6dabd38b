/**
 * Opens this device's keychain.
 *
 * The first start chooses the backend and records it in `keychain.json`, with a random store id.
 * Later starts use the recorded backend, because after a silent change the secrets would seem lost.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { StartError } from '../errors.ts'
import { fileKeychain, findKey, hasSealed, keyCheck, makeKey, sealedReader } from './file.ts'
import { osKeychain, probe, whyUnreachable } from './os.ts'
import { readChecked, readPrivate, writeAtomic } from './private-file.ts'
import type { Keychain } from './backend.ts'
import { type CountedKeychain, countedKeychain } from './counted.ts'

interface Options {
  /** A private folder that exists. */
  readonly stateDir: string
  readonly choice: 'auto' | 'os' | 'file'
  readonly credentialsDir: string | null
}

/** The content of `keychain.json`. */
type Recorded =
  | { readonly backend: 'os'; readonly store: string }
  | { readonly backend: 'file'; readonly store: string; readonly check: string }

/**
 * Opens the keychain of a state folder. Creates it at the first start.
 * @throws StartError `keychain` if the recorded keychain cannot be opened
 */
export async function openKeychain(options: Options): Promise<CountedKeychain> {
  return countedKeychain(await openRecorded(options))
}

async function openRecorded(options: Options): Promise<Keychain> {
  const record = recordOf(options)
  if (record === null) return create(options)
  return record.backend === 'os'
    ? openOs(record, options)
    : fileKeychain(options.stateDir, recordedKey(record, options))
}

/**
 * Returns a reader of the recorded keychain; null if none is recorded yet.
 *
 * It writes nothing, and works while another process has the keychain open.
 * @throws StartError as `openKeychain` does
 */
export async function readKeychain(
  options: Options,
): Promise<Pick<Keychain, 'backend' | 'get'> | null> {
  const record = recordOf(options)
  if (record === null) return null
  return record.backend === 'os'
    ? openOs(record, options)
    : sealedReader(options.stateDir, recordedKey(record, options))
}

function recordIn(stateDir: string): Recorded | null {
  const path = recordFile(stateDir)
  const text = readChecked(path, () => null)?.toString()
  return text === undefined ? null : parse(text, path)
}

/**
 * Checks whether the secrets of a state folder are in the operating system's keychain.
 * @throws StartError `keychain` for a damaged record
 */
export const isInSystem = (stateDir: string): boolean => recordIn(stateDir)?.backend === 'os'

/**
 * Deletes a state folder's secrets from the operating system's keychain.
 *
 * Does nothing for sealed files, which are deleted with the folder.
 * @param stateDir a folder that this user owns
 * @param names returns the names of the secrets; called only if they are needed
 * @throws StartError `keychain`, AppError `keychain_locked` if they cannot be deleted
 */
export async function forgetSecrets(stateDir: string, names: () => string[]): Promise<void> {
  const record = recordIn(stateDir)
  if (record === null || record.backend === 'file') return
  const keychain = await openOs(record, { stateDir, choice: 'auto', credentialsDir: null })
  for (const name of names()) keychain.delete(name)
}

const recordFile = (stateDir: string): string => join(stateDir, 'keychain.json')

function recordOf({ stateDir, choice }: Options): Recorded | null {
  const path = recordFile(stateDir)
  const text = readPrivate(path)
  if (text === null) return null
  const record = parse(text, path)
  if (choice !== 'auto' && choice !== record.backend) {
    throw refuse(
      `SVC_KEYCHAIN is "${choice}", but the secrets of ${stateDir} are in the ${record.backend} keychain. ` +
        'Unset SVC_KEYCHAIN, or use another SVC_STATE_DIR.',
    )
  }
  return record
}

async function create({ stateDir, choice, credentialsDir }: Options) {
  const path = recordFile(stateDir)
  if (hasSealed(stateDir))
    throw refuse(
      `${path} is missing, but ${stateDir} has sealed secrets. Restore the file from a backup. It names the key.`,
    )
  const store = randomBytes(16).toString('hex')
  if (choice !== 'file' && whyUnreachable() === null && (await probe(stateDir, store))) {
    writeRecord(path, { backend: 'os', store })
    return osKeychain(stateDir, store)
  }
  if (choice === 'os') {
    throw refuse(
      'SVC_KEYCHAIN is "os", but the operating system\'s keychain cannot store a secret: ' +
        `${whyUnreachable() ?? 'it is locked, or no keychain service is running'}. ` +
        'Unlock it, or set SVC_KEYCHAIN=file.',
    )
  }
  const key = findKey(stateDir, credentialsDir) ?? makeKey(stateDir)
  const keychain = fileKeychain(stateDir, key)
  // Written last. After an earlier crash there is no record, so the next start counts as the first.
  writeRecord(path, { backend: 'file', store, check: keyCheck(key) })
  return keychain
}

async function openOs(record: Recorded, { stateDir }: Options): Promise<Keychain> {
  const advice = `The secrets of ${stateDir} are in the operating system's keychain. Start countersignd inside the user's session.`
  const why = whyUnreachable()
  if (why !== null) throw refuse(`The keychain is not available: ${why}. ${advice}`)
  try {
    return await osKeychain(stateDir, record.store)
  } catch (cause) {
    throw refuse(`The keychain library @napi-rs/keyring cannot be loaded. ${advice}`, cause)
  }
}

function recordedKey(
  record: Extract<Recorded, { backend: 'file' }>,
  { stateDir, credentialsDir }: Options,
): Uint8Array {
  const key = findKey(stateDir, credentialsDir)
  const places = `$CREDENTIALS_DIRECTORY/countersign-key, ${join(stateDir, 'keychain.key')}`
  if (key === null) {
    throw refuse(
      `The key of the file keychain is missing (checked ${places}). Put it back. Without it, the secrets in ${stateDir} cannot be read.`,
    )
  }
  if (keyCheck(key) !== record.check) {
    throw refuse(
      `The key found does not open the secrets in ${stateDir} (checked ${places}, in this order). Put the right key back.`,
    )
  }
  return key
}

const writeRecord = (path: string, record: Recorded): void =>
  writeAtomic(path, `${JSON.stringify(record)}\n`)

function parse(text: string, path: string): Recorded {
  const hex = (value: unknown): value is string =>
    typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)
  try {
    const { backend, store, check } = JSON.parse(text) as {
      backend?: unknown
      store?: unknown
      check?: unknown
    }
    if (backend === 'os' && hex(store)) return { backend, store }
    if (backend === 'file' && hex(store) && hex(check)) return { backend, store, check }
  } catch (cause) {
    throw damaged(path, cause)
  }
  throw damaged(path)
}

const damaged = (path: string, cause?: unknown): StartError =>
  refuse(`${path} is damaged. It records where the secrets are. Restore it from a backup.`, cause)

const refuse = (message: string, cause?: unknown): StartError =>
  new StartError('keychain', message, cause)

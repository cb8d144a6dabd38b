/**
 * Checks that the keychain that the state folder records returns the expected keys.
 *
 * Nothing is written to the keychain.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { AppError, StartError } from '../../errors.ts'
import { readKeychain } from '../../keychain/keychain.ts'
import { whyUnreachable } from '../../keychain/os.ts'
import { readPrivate } from '../../keychain/private-file.ts'
import { type Finding, fail, ok, messageOf } from './finding.ts'
import { type DoctorCheck, type DoctorContext } from './check.ts'

const NAME = 'keychain'
/** The name of the keychain entry with a device's keys; see `device/identity/own-keys.ts`. */
const KEYS = 'device'

const UNLOCK =
  'Log in to the desktop session of this user, or unlock the keyring there. Then run: countersignd doctor'
const RESTORE =
  'Restore the whole state folder from a backup. Without a backup, move the state folder elsewhere and sign in again as a new device of the account.'

function remedyFor(error: unknown, backend: string, choice: Config['keychain']): string {
  if (choice !== 'auto' && choice !== backend && backend !== '') return 'unset SVC_KEYCHAIN'
  if (backend === 'os') return UNLOCK
  return error instanceof AppError || error instanceof StartError
    ? RESTORE
    : 'Check the disk, and the permissions of the state folder.'
}

/** Returns where the key for the encrypted files comes from. */
function keyFrom({ credentialsDir, stateDir }: Omit<Where, 'keychain'>): string {
  const credential = credentialsDir === null ? null : join(credentialsDir, 'countersign-key')
  return credential !== null && existsSync(credential)
    ? `the service manager’s credential ${credential}`
    : join(stateDir, 'keychain.key')
}

type Where = Pick<Config, 'stateDir' | 'credentialsDir' | 'keychain'>

/** Returns the recorded backend; an empty text if it cannot be read. */
function recordedIn(stateDir: string): string {
  try {
    const text = readPrivate(join(stateDir, 'keychain.json')) ?? ''
    return String((JSON.parse(text) as { backend?: unknown }).backend)
  } catch {
    return ''
  }
}

/**
 * Opens the recorded keychain and reads the device's keys, if there is a device.
 *
 * Called in the subprocess, because a keychain can hang.
 */
export async function keychainApart({ config, memory }: DoctorContext): Promise<Finding[]> {
  const { stateDir, credentialsDir = null, keychain: choice = 'auto' } = config
  if (stateDir === undefined) return []
  const hasDevice = memory.identity !== null
  try {
    const reader = await readKeychain({ stateDir, credentialsDir, choice })
    if (reader === null) return [unrecorded(config)]
    const place =
      reader.backend === 'os'
        ? "the operating system's"
        : `encrypted files, with their key in ${keyFrom({ stateDir, credentialsDir })}`
    if (reader.get(KEYS) === null && hasDevice)
      return [fail(NAME, `${place}; it does not contain the keys of this device`, RESTORE)]
    return [ok(NAME, `${place}${hasDevice ? '; it contains the keys of this device' : ''}`)]
  } catch (error) {
    return [fail(NAME, messageOf(error), remedyFor(error, recordedIn(stateDir), choice))]
  }
}

function unrecorded({ keychain }: Partial<Config>): Finding {
  const why = whyUnreachable()
  if (keychain === 'os' && why !== null)
    return fail(
      NAME,
      `no keychain is chosen yet. SVC_KEYCHAIN is "os", but ${why}`,
      'Start the daemon in the desktop session of the user, or run: export SVC_KEYCHAIN=file',
    )
  const first = keychain === 'file' || why !== null ? 'encrypted files' : "the operating system's"
  return ok(NAME, `no keychain is chosen yet; the first start would use ${first}`)
}

export const keychainCheck: DoctorCheck = {
  name: NAME,
  async run({ config, apart }: DoctorContext) {
    const { stateDir } = config
    if (stateDir === undefined) return []
    const record = join(stateDir, 'keychain.json')
    if (!existsSync(record)) return [unrecorded(config)]
    return (
      (await apart(NAME)) ?? [
        fail(
          NAME,
          'the keychain does not answer, because it is locked or the keychain service hangs',
          UNLOCK,
        ),
      ]
    )
  },
}

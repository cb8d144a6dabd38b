/**
 * The files of the system service outside its state folder.
 * Only root may be able to replace the program that it runs. The key that seals its secrets is
 * readable by root alone, and the service gets it as a credential: without the key a copy of the
 * state is useless.
 */
import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import { StartError } from '../../errors.ts'
import type { Host } from './machine.ts'
import { SYSTEM_SETTINGS, SYSTEM_STATE } from './systemd.ts'

/** Returns a path and all its parents, from the root on. */
const waysTo = (path: string): string[] =>
  path === '/' ? ['/'] : [...waysTo(posix.dirname(path)), path]

/**
 * Checks the file of a program, if it exists, and every folder above it.
 * @throws StartError stateUnsafe with the command that corrects the owner or mode
 */
export function requireOwnPlace(machine: Pick<Host, 'look'>, path: string): void {
  for (const step of waysTo(path)) {
    const seen = machine.look(step)
    if (seen === null) return
    if (seen.isLink)
      throw unsafe(
        `${step} is a link, so the service would run the target of the link. Replace the link with the ${step === path ? 'file' : 'folder'} itself.`,
      )
    if (seen.uid !== 0)
      throw unsafe(
        `${step} belongs to user ${seen.uid}, who could replace the program of the service. Run: chown root '${step}'`,
      )
    if ((seen.mode & 0o022) !== 0)
      throw unsafe(
        `Other users can write to ${step} and could replace the program of the service. Run: chmod go-w '${step}'`,
      )
  }
}

const unsafe = (message: string) => new StartError('stateUnsafe', message)

export const SEALING_KEY = `${SYSTEM_SETTINGS}/key`

/** The key encrypted by systemd-creds(1), for a drop-in of the operator. */
const ENCRYPTED = `${SEALING_KEY}.cred`

/**
 * Creates the key if there is none, from the key inside the state folder if that has one.
 * @returns whether the key was created
 * @throws StartError keychain if there are sealed secrets and their key is missing
 */
export function makeSealingKey(machine: Host): boolean {
  if ([SEALING_KEY, ENCRYPTED].some((path) => machine.look(path) !== null)) return false
  const own = Buffer.from(machine.read(`${SYSTEM_STATE}/keychain.key`) ?? []).toString('latin1')
  const isKey = /^[0-9a-f]{64}\n?$/.test(own)
  const sealed = machine.list(`${SYSTEM_STATE}/keychain`).some((name) => name.endsWith('.sealed'))
  if (sealed && !isKey)
    throw new StartError(
      'keychain',
      `${SEALING_KEY} is missing, and the secrets in ${SYSTEM_STATE} are encrypted with it. Restore that file from a backup, ` +
        'or start over: countersignd service uninstall --system --purge --yes',
    )
  const key = isKey ? own : `${randomBytes(32).toString('hex')}\n`
  machine.write(SEALING_KEY, Buffer.from(key), 0o600)
  return true
}

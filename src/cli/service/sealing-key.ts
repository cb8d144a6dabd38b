/**
 * The key that seals the secrets of the system service.
 * It lies outside the state folder, readable by root alone, and the service gets it as a
 * credential: without the key a copy of the state is useless. An existing key is never replaced.
 */
import { randomBytes } from 'node:crypto'
import { StartError } from '../../errors.ts'
import type { Host } from './machine.ts'
import { SYSTEM_SETTINGS, SYSTEM_STATE } from './systemd.ts'

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
      `${SEALING_KEY} is gone, and the secrets in ${SYSTEM_STATE} are sealed with it. Put it back from a backup, ` +
        'or begin anew: countersignd service uninstall --system --purge --yes',
    )
  const key = isKey ? own : `${randomBytes(32).toString('hex')}\n`
  machine.write(SEALING_KEY, Buffer.from(key), 0o600)
  return true
}

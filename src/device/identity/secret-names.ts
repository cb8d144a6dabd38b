/**
 * The names under which this device keeps secrets in the keychain. Backup and removal use this
 * list, because a keychain cannot list its own entries.
 */
import { tokenEntry } from '../../state/tokens.ts'

/**
 * The secrets of which a device has one each. In order: its keys, its session, the key of its
 * sealed secrets, and the key of a machine account.
 */
const SINGLE = ['device', 'session', 'vault', 'machine'] as const

/**
 * Returns every name under which there may be a secret.
 * @param tokens the ids of all API tokens, including revoked ones and one that is being created
 */
export const secretNames = (tokens: Iterable<string>): string[] => [
  ...SINGLE,
  ...Array.from(tokens, tokenEntry),
]

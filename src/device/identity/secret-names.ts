/**
 * The names under which this device keeps secrets in the keychain, which cannot list its own. A backup and a removal go through them
 * all.
 */
import { tokenEntry } from '../../state/tokens.ts'

/** What a device has one of: its keys, its session, the key of its sealed secrets, and a machine account's key. */
const SINGLE = ['device', 'session', 'vault', 'machine'] as const

/**
 * Every name that may have a secret.
 * @param tokens the ids of all API tokens, revoked ones and the one that is being made included
 */
export const secretNames = (tokens: Iterable<string>): string[] => [
  ...SINGLE,
  ...Array.from(tokens, tokenEntry),
]

import * as v from 'valibot'
import type { Routes } from '../route.ts'

/** The minimum length of a passphrase in characters, and its maximum in UTF-16 code units. */
export const SHORTEST = 12
export const LONGEST = 1024

/** Returns the number of characters in a passphrase, independently of its Unicode composition. */
export const lengthOf = (passphrase: string): number =>
  Array.from(passphrase.normalize('NFC')).length

export const Passphrase = v.pipe(
  v.string(),
  v.check(
    (text) => text.length <= LONGEST && lengthOf(text) >= SHORTEST,
    `A passphrase must have ${SHORTEST} to ${LONGEST} characters.`,
  ),
)

export const backups = {
  /** Encrypt a copy of everything that this device stores. */
  create: {
    method: 'POST',
    path: '/local/v1/backups',
    by: 'daemon',
    errors: ['in_progress'],
    body: v.strictObject({ passphrase: Passphrase }),
    media: ['application/octet-stream'],
  },
} as const satisfies Routes

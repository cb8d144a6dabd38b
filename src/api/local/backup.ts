import * as v from 'valibot'
import type { Routes } from '../route.ts'

/** The fewest characters of a passphrase, and the most UTF-16 code units. */
export const SHORTEST = 12
export const LONGEST = 1024

/** Returns how many characters a passphrase has, in any Unicode composition. */
export const lengthOf = (passphrase: string): number =>
  Array.from(passphrase.normalize('NFC')).length

export const backups = {
  /** Seal a copy of all that this device keeps. */
  create: {
    method: 'POST',
    path: '/local/v1/backups',
    by: 'daemon',
    errors: ['in_progress'],
    body: v.strictObject({
      passphrase: v.pipe(
        v.string(),
        v.check(
          (text) => text.length <= LONGEST && lengthOf(text) >= SHORTEST,
          `A passphrase must have ${SHORTEST} to ${LONGEST} characters.`,
        ),
      ),
    }),
    media: ['application/octet-stream'],
  },
} as const satisfies Routes

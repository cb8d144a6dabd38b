/** Runs "login" of a new device and "device approve" of another side by side at two terminals. */
import assert from 'node:assert/strict'
import { EXIT } from '../../src/errors.ts'
import type { Person, CommandResult } from './terminal.ts'

/** Returns the newest four words in an instruction. */
export const fourWordsIn = (text: string): string =>
  [...text.matchAll(/^ {7}((?:[a-z]+ ){3}[a-z]+)$/gm)].at(-1)?.[1] ?? assert.fail(text)

/**
 * Runs both commands; each user types the words that the other screen shows.
 * @param first what the user types on the new device before the words, such as the mailed code
 */
export async function across(
  login: (person: Person) => Promise<CommandResult>,
  approve: (person: Person) => Promise<CommandResult>,
  first: Person | null = null,
): Promise<{ login: CommandResult; approve: CommandResult }> {
  const shown = Promise.withResolvers<string | null>()
  const others = Promise.withResolvers<string | null>()
  let isFirst = first !== null
  const comes = login((seen) => {
    if (isFirst && first !== null) {
      isFirst = false
      return first(seen)
    }
    shown.resolve(fourWordsIn(seen))
    return others.promise
  }).finally(() => shown.resolve(null))
  /** Repeats the approval until the new device has enrolled. */
  async function approved(): Promise<CommandResult> {
    for (;;) {
      const result = await approve(() => shown.promise)
      if (result.err.includes('No device awaits approval')) continue
      others.resolve(result.code === EXIT.ok ? result.out.trim() : null)
      return result
    }
  }
  const [one, other] = await Promise.all([comes, approved()])
  return { login: one, approve: other }
}

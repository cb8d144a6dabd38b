/**
 * Reads the passphrase of a backup from a terminal without echo, or from a private file.
 * Never from an argument or a variable, because other users can see those.
 */
import { LONGEST, SHORTEST, lengthOf } from '../api/local/backup.ts'
import { StartError } from '../errors.ts'
import { readPrivate } from '../keychain/private-file.ts'
import { type Invocation, UsageError } from './command.ts'
import { type Prompt, withPrompt } from './prompt.ts'

export const PASSPHRASE_OPTION = { 'passphrase-file': { type: 'string' } } as const

/** Returns why a new passphrase is rejected, or null. */
function faultOf(passphrase: string): string | null {
  const length = lengthOf(passphrase)
  if (length < SHORTEST)
    return `The passphrase has ${length} character${length === 1 ? '' : 's'}. Choose one with at least ${SHORTEST}, such as five words: a thief who has the backup can try any number of passphrases.`
  return passphrase.length > LONGEST
    ? `The passphrase is longer than ${LONGEST} characters. Choose a shorter one.`
    : null
}

function fromFile(path: string): string {
  const text = readPrivate(path)
  if (text === null)
    throw new StartError(
      'configuration',
      `There is no file ${path}. Correct --passphrase-file, or create the file.`,
    )
  const passphrase = text.trim()
  if (passphrase === '' || /[\r\n]/.test(passphrase))
    throw new StartError('configuration', `${path} must contain only the passphrase, on one line.`)
  return passphrase
}

const given = (answer: string | null): string => {
  if (answer !== null && answer !== '') return answer
  throw new StartError('failed', 'No passphrase was given. Nothing was done.')
}

async function typed(ask: Prompt['ask'], isNew: boolean): Promise<string> {
  if (!isNew) return given(await ask('Passphrase of the backup: '))
  const passphrase = given(await ask('New passphrase for the backup: '))
  // Checked before the user types it a second time.
  const fault = faultOf(passphrase)
  if (fault !== null) throw new StartError('failed', fault)
  if (given(await ask('The same passphrase again: ')) === passphrase) return passphrase
  throw new StartError('failed', 'The two passphrases were different. Nothing was done. Try again.')
}

/**
 * Returns the passphrase.
 * @param isNew whether it is for a new backup: the user types it twice, and it must be long
 *   enough
 * @throws StartError; UsageError if there is neither a file nor a terminal
 */
export async function passphraseOf(
  { options, io }: Pick<Invocation, 'options' | 'io'>,
  isNew: boolean,
): Promise<string> {
  const path = options['passphrase-file']
  if (path !== undefined) {
    const passphrase = fromFile(String(path))
    const fault = isNew ? faultOf(passphrase) : null
    if (fault !== null) throw new StartError('failed', fault)
    return passphrase
  }
  if (io.stdin.isTTY !== true)
    throw new UsageError(
      'There is no terminal for typing the passphrase. Write it to a file of mode 0600, and add --passphrase-file with the path of that file.',
    )
  return withPrompt(io, (prompt) => typed((question) => prompt.askUnseen(question), isNew))
}

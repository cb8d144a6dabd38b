/**
 * Gets the passphrase of a backup: from a terminal without echo, from a private file, or from an
 * open file descriptor.
 *
 * It never comes from an argument or a variable, because other users can see those.
 */
import { type Stats, closeSync, fstatSync, readFileSync, writeSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { lengthOf, LONGEST, SHORTEST } from '../../api/local/backup.ts'
import { StartError } from '../../errors.ts'
import { readPrivate } from '../../keychain/private-file.ts'
import { type Invocation, UsageError } from '../command.ts'
import { type Prompt, withPrompt } from '../prompt.ts'

export const PASSPHRASE_OPTIONS = {
  'passphrase-file': { type: 'string' },
  'passphrase-fd': { type: 'string' },
} as const

/** The help of the options. */
export const PASSPHRASE_HELP = `
  --passphrase-file FILE   read the passphrase from this file of mode 0600
  --passphrase-fd N        read it from the open file descriptor N: 0 is standard input`.slice(1)

/** Returns why a new passphrase is rejected; null if it is accepted. */
function faultOf(passphrase: string): string | null {
  const length = lengthOf(passphrase)
  if (length < SHORTEST)
    return `The passphrase has ${length} character${length === 1 ? '' : 's'}. Choose one with at least ${SHORTEST}, such as five words: a thief who has the backup can try any number of passphrases.`
  return passphrase.length > LONGEST
    ? `The passphrase is longer than ${LONGEST} characters. Choose a shorter one.`
    : null
}

/** @param place what contains the text, for the message */
function onlyLine(text: string, place: string): string {
  const passphrase = text.trim()
  if (passphrase !== '' && !/[\r\n]/.test(passphrase)) return passphrase
  throw new StartError('configuration', `${place} must contain only the passphrase, on one line.`)
}

function fromFile(path: string): string {
  const text = readPrivate(path)
  if (text === null)
    throw new StartError(
      'configuration',
      `There is no file ${path}. Correct --passphrase-file, or create the file.`,
    )
  return onlyLine(text, path)
}

const USAGE = '--passphrase-fd must be 0, or the number of a file that the caller opened, from 3.'

/** Descriptors above this number are not searched for the other end of a pipe. */
const LAST_SEARCHED = 255

/**
 * Whether this process can also write to the pipe of a descriptor, as to the pipes that Node
 * creates for itself. Reading such a pipe could wait forever.
 */
function isOwnPipe({ dev, ino }: Stats): boolean {
  for (let fd = 3; fd <= LAST_SEARCHED; fd++)
    try {
      const found = fstatSync(fd)
      if (found.dev !== dev || found.ino !== ino) continue
      // This writes nothing, and fails if the descriptor is for reading only.
      writeSync(fd, new Uint8Array())
      return true
    } catch {
      // This descriptor is not open, or is an end for reading.
    }
  return false
}

/** Reads a descriptor that this process inherited, and closes it. */
function fromDescriptor(fd: number): string {
  try {
    const stat = fstatSync(fd)
    // Other kinds of descriptors are the program's own.
    if (!stat.isFile() && !stat.isFIFO() && !stat.isSocket() && !stat.isCharacterDevice())
      throw new UsageError(USAGE)
    if (stat.isFIFO() && isOwnPipe(stat)) throw new UsageError(USAGE)
    const text = readFileSync(fd, 'utf8')
    closeSync(fd)
    return text
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new StartError(
      'configuration',
      `The file descriptor ${fd} cannot be read (${(cause as NodeJS.ErrnoException).code}). Open it for this command, for example: --passphrase-fd 3 3< FILE`,
      cause,
    )
  }
}

async function fromOptions({
  options,
  io,
}: Pick<Invocation, 'options' | 'io'>): Promise<string | null> {
  const { 'passphrase-file': path, 'passphrase-fd': fd } = options
  if (path !== undefined && fd !== undefined)
    throw new UsageError('Give either --passphrase-file or --passphrase-fd.')
  if (path !== undefined) return fromFile(String(path))
  if (fd === undefined) return null
  if (!/^(0|[3-9]|[1-9]\d{1,5})$/.test(String(fd))) throw new UsageError(USAGE)
  const content = fd === '0' ? await text(io.stdin) : fromDescriptor(Number(fd))
  return onlyLine(content, `The file descriptor ${fd}`)
}

const given = (answer: string | null): string => {
  if (answer !== null && answer !== '') return answer
  throw new StartError('failed', 'No passphrase was given. Nothing was done.')
}

async function typed(ask: Prompt['ask'], isNew: boolean): Promise<string> {
  if (!isNew) return given(await ask('Passphrase of the backup: '))
  const passphrase = given(await ask('New passphrase for the backup: '))
  // Check the passphrase before the user has to type it a second time.
  const fault = faultOf(passphrase)
  if (fault !== null) throw new StartError('failed', fault)
  if (given(await ask('The same passphrase again: ')) === passphrase) return passphrase
  throw new StartError('failed', 'The two passphrases were different. Nothing was done. Try again.')
}

/**
 * Returns the passphrase.
 * @param isNew whether the passphrase is for a new backup, so that the user must type it twice and
 * it must be long enough
 * @throws StartError; UsageError if there is neither an option nor a terminal
 */
export async function passphraseOf(
  invocation: Pick<Invocation, 'options' | 'io'>,
  isNew: boolean,
): Promise<string> {
  const { io } = invocation
  const passphrase = await fromOptions(invocation)
  if (passphrase !== null) {
    const fault = isNew ? faultOf(passphrase) : null
    if (fault !== null) throw new StartError('failed', fault)
    return passphrase
  }
  if (io.stdin.isTTY !== true)
    throw new UsageError(
      'There is no terminal for typing the passphrase. Write it to a file of mode 0600, and add --passphrase-file with the path of that file; or pass it with --passphrase-fd.',
    )
  return withPrompt(io, (prompt) => typed((question) => prompt.askUnseen(question), isNew))
}

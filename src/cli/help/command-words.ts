/** Finds the command or group that the first words of a command line name. */
import { didYouMean, nearestName } from '../../crypto/encoding/similar.ts'
import { UsageError } from '../command.ts'
import { COMMANDS } from '../commands.ts'

/** Returns the names of the commands that begin with the words of a name and have more words. */
export const commandsBelow = (name: string): string[] =>
  Object.keys(COMMANDS).filter((one) => one.startsWith(`${name} `))

/** Returns a question about the name that was probably meant; empty if there is none. */
export function suggestion(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  return didYouMean(nearest === null ? [] : [`"${nearest}"`])
}

/**
 * Returns a question about the command or group that was probably meant by two words, or by the
 * first of them; empty if there is none.
 * @param name the words before them
 */
export function suggestionAfter(name: readonly string[], next: readonly string[]): string {
  if (next.length === 0) return ''
  const below = name.length === 0 ? Object.keys(COMMANDS) : commandsBelow(name.join(' '))
  const beginnings = below.map((one) =>
    one
      .split(' ')
      .slice(0, name.length + 1)
      .join(' '),
  )
  const meant = (count: number, known: readonly string[]) =>
    suggestion([...name, ...next.slice(0, count)].join(' '), known)
  return meant(2, below) || meant(1, beginnings)
}

/** A command or a group of commands, and the words after its name. */
interface Named {
  readonly name: string
  readonly isGroup: boolean
  readonly rest: readonly string[]
}

/**
 * Returns the command or group that the first one to three words name.
 * @throws UsageError if they name none
 */
export function namedBy(argv: readonly string[]): Named {
  for (const count of [3, 2, 1]) {
    const name = argv.slice(0, count).join(' ')
    const isGroup = !Object.hasOwn(COMMANDS, name)
    if (!isGroup || commandsBelow(name).length > 0)
      return { name, isGroup, rest: argv.slice(count) }
  }
  const [first = ''] = argv
  const why = first.startsWith('-')
    ? ': write options after the command.'
    : `.${suggestionAfter([], argv)}`
  throw new UsageError(
    `There is no command "${first}"${why} "countersignd --help" lists the commands.`,
  )
}

/** Returns the error for a group that no command follows. */
export function incomplete({ name, rest }: Named): UsageError {
  const [word] = rest
  const list = commandsBelow(name).map((one) => one.slice(name.length + 1))
  const meant = suggestionAfter(name.split(' '), rest)
  const unknown = word === undefined ? '' : `There is no command "${name} ${word}".${meant} `
  return new UsageError(`${unknown}"${name}" must be followed by one of: ${list.join(', ')}.`)
}

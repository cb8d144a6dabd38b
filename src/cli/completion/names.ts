/** The names that a command line can be completed with, from the words before the cursor. */
import { offersFor } from '../../api/naming/offers.ts'
import type { Api, Command, Commands } from '../command.ts'
import { newNameFinder, referenceAt, resolveNames } from '../references.ts'

/** Returns the command that the first words name, and the words after it; null if there is none. */
function commandIn(commands: Commands, words: readonly string[]) {
  for (const length of [3, 2, 1]) {
    const name = words.slice(0, length).join(' ')
    const listed = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (listed !== undefined) return { listed, rest: words.slice(length) }
  }
  return null
}

/** Returns the arguments in these words, and the option that still needs its value; or null. */
function placeIn({ options = {} }: Command, words: readonly string[]) {
  const args: string[] = []
  let option: string | null = null
  for (const word of words)
    // bash takes --option=value apart.
    if (word === '=') continue
    else if (option !== null) option = null
    else if (!word.startsWith('-')) args.push(word)
    else if (options[word.slice(2)]?.type === 'string') option = word.slice(2)
  return { args, option }
}

/**
 * Returns the names that can follow these words; empty if none can.
 * @param words the words after the name of the program, up to the word that is completed
 * @param withApi opens the API; it is called only if names can follow
 */
export async function namesAfter(
  commands: Commands,
  words: readonly string[],
  withApi: <T>(work: (api: Api) => Promise<T>) => Promise<T>,
): Promise<string[]> {
  const found = commandIn(commands, words)
  if (found === null) return []
  const command = await found.listed.load()
  const { args, option } = placeIn(command, found.rest)
  const reference =
    option === null ? referenceAt(command, args.length) : command.options?.[option]?.takes
  if (reference === undefined) return []
  return withApi(async (api) => {
    const resolved = await resolveNames(command, { args, options: {} }, (work) => work(api))
    const all = await newNameFinder(api).read(reference, resolved.args[0])
    return offersFor(all.map(({ item }) => item))
  })
}

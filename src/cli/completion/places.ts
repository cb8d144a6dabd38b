/** Every place of the command line where a word may be completed, made from the command table. */
import type { Command } from '../command.ts'
import { type Option, usageOf } from './usage.ts'

export interface Next {
  readonly word: string
  readonly summary: string
}

/** After the words of a command, or of a group of them; the first place is before any word. */
export interface Place {
  readonly path: string
  /** The words that lead to other places. */
  readonly next: readonly Next[]
  readonly options: readonly Option[]
  /** The words that an argument may be. */
  readonly words: readonly string[]
  /** Whether an argument may be a file. */
  readonly file: boolean
}

interface Listed {
  readonly summary: string
  readonly load: () => Promise<Command>
}

/** The commands by their words. */
export type Commands = Readonly<Record<string, Listed>>

const HELP: Option = { name: '--help', value: null }
const BEFORE_ALL: Place = {
  path: '',
  next: [{ word: 'help', summary: 'Show all commands' }],
  options: [HELP, { name: '--version', value: null }],
  words: [],
  file: false,
}

/** Every path above a name, and itself: `token create` is below `token`, which is below nothing. */
const pathsTo = (name: string): string[] => {
  const words = name.split(' ')
  return words.map((_, i) => words.slice(0, i + 1).join(' '))
}

function nextOf(path: string, names: ReadonlyMap<string, string>): Next[] {
  const begin = path === '' ? '' : `${path} `
  const words = [...names.keys()]
    .filter((name) => name.startsWith(begin) && name !== path)
    .map((name) => name.slice(begin.length).split(' ')[0] as string)
  return [...new Set(words)].map((word) => ({
    word,
    summary: names.get(begin + word) ?? `Commands that begin with ${begin}${word}`,
  }))
}

/**
 * Load every command and list the places.
 * @param commands the command table
 */
export async function placesOf(commands: Commands): Promise<Place[]> {
  const names = new Map(Object.entries(commands).map(([name, { summary }]) => [name, summary]))
  const paths = new Set([...names.keys()].flatMap(pathsTo))
  const below = [...paths].map(async (path): Promise<Place> => {
    const next = nextOf(path, names)
    const listed = commands[path]
    if (listed === undefined) return { path, next, options: [HELP], words: [], file: false }
    return { path, next, ...usageOf(await listed.load()) }
  })
  const first = { ...BEFORE_ALL, next: [...nextOf('', names), ...BEFORE_ALL.next] }
  return [first, ...(await Promise.all(below))]
}

/** The options of a place that a value follows, each under the path and its name. */
export const valuesIn = (places: readonly Place[]) =>
  places.flatMap(({ path, options }) =>
    options.flatMap(({ name, value }) => (value === null ? [] : [{ path, name, value }])),
  )

/** A text between single quotes of a shell of Bourne's family. */
export const quotedForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

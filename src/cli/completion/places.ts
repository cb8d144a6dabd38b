/** The positions in a command line where a word may be completed, made from the command table. */
import type { Commands } from '../command.ts'
import { type Option, usageOf } from './usage.ts'

export interface NextWord {
  readonly word: string
  readonly summary: string
}

/** The position after the words of a command or of a group. The first one is before any word. */
export interface CompletionPoint {
  readonly path: string
  /** The words that continue the name of a command. */
  readonly next: readonly NextWord[]
  readonly options: readonly Option[]
  /** The words accepted as an argument. */
  readonly words: readonly string[]
  /** Whether an argument may be a file. */
  readonly file: boolean
}

const HELP: Option = { name: '--help', value: null }
const BEFORE_ALL: CompletionPoint = {
  path: '',
  next: [{ word: 'help', summary: 'Show all commands' }],
  options: [HELP, { name: '--version', value: null }],
  words: [],
  file: false,
}

/** Returns a name and all its prefixes: `token` and `token create` for `token create`. */
const pathsTo = (name: string): string[] => {
  const words = name.split(' ')
  return words.map((_, i) => words.slice(0, i + 1).join(' '))
}

function nextOf(path: string, names: ReadonlyMap<string, string>): NextWord[] {
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
 * Loads every command and returns the positions.
 * @param commands the command table
 */
export async function placesOf(commands: Commands): Promise<CompletionPoint[]> {
  const names = new Map(Object.entries(commands).map(([name, { summary }]) => [name, summary]))
  const paths = new Set([...names.keys()].flatMap(pathsTo))
  const below = [...paths].map(async (path): Promise<CompletionPoint> => {
    const next = nextOf(path, names)
    const listed = commands[path]
    if (listed === undefined) return { path, next, options: [HELP], words: [], file: false }
    return { path, next, ...usageOf(await listed.load()) }
  })
  const first = { ...BEFORE_ALL, next: [...nextOf('', names), ...BEFORE_ALL.next] }
  return [first, ...(await Promise.all(below))]
}

/** Returns the options that take a value, each with the path of its position. */
export const valuesIn = (places: readonly CompletionPoint[]) =>
  places.flatMap(({ path, options }) =>
    options.flatMap(({ name, value }) => (value === null ? [] : [{ path, name, value }])),
  )

/** Returns a text in single quotes for a shell of the Bourne family. */
export const quotedForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * The positions in a command line where a word can be completed.
 *
 * They are generated from the command table.
 */
import type { Command, Commands } from '../command.ts'
import { TOPICS } from '../help/topics.ts'

/** Several words, separated by commas. */
interface WordList {
  readonly among: readonly string[]
}

/**
 * What a position accepts: a file name, the name of an item, one of several words, a list of words,
 * or a value unknown to the shell.
 */
type Value = 'file' | 'name' | 'other' | readonly string[] | WordList

/** Returns the words that a value may have. */
export const wordsOf = (value: Value): readonly string[] => {
  if (typeof value === 'string') return []
  return 'among' in value ? value.among : value
}

/** Whether a value is a list of words. */
export const isWordList = (value: Value): boolean => typeof value === 'object' && 'among' in value

export interface Option {
  /** The name, including the dashes. */
  readonly name: string
  /** null if the option takes no value. */
  readonly value: Value | null
}

interface Usage {
  readonly options: readonly Option[]
  /** The words accepted as an argument. */
  readonly words: readonly string[]
  /** Whether an argument may be a file. */
  readonly file: boolean
  /** Whether an argument may be the name of an item. */
  readonly names: boolean
}

const isWord = (text: string) => /^[a-z][a-z0-9-]*$/.test(text)
/** Whether a placeholder stands for a file. `STAMP` is a stamp file. */
const isFile = (text: string) => /^(\w+_)?FILE$|^STAMP$/.test(text)

function valueOf(placeholder: string): Exclude<Value, 'name' | WordList> {
  const parts = placeholder.split('|')
  if (parts.some(isFile)) return 'file'
  return parts.length > 1 && parts.every(isWord) ? parts : 'other'
}

/**
 * Parses a usage line.
 *
 * Options that neither the usage line nor the help names are omitted, because only the program
 * itself uses them.
 */
export function usageOf({ usage, help, options = {}, takes, takesMore }: Command): Usage {
  const parts = usage
    .replaceAll(/[[\]\u2026]/g, ' ')
    .split(/\s+/)
    .filter(Boolean)
  const named = new Map<string, Value | null>()
  const words: string[] = []
  let file = false
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as string
    const known = part.startsWith('--') ? options[part.slice(2)] : undefined
    if (known?.type === 'string') {
      const value = valueOf(parts[++i] ?? '')
      const own = known.words === undefined ? value : { among: known.words }
      named.set(part, known.takes === undefined ? own : 'name')
    } else if (known !== undefined) named.set(part, null)
    else if (isWord(part)) words.push(part)
    else {
      const value = valueOf(part)
      if (value === 'file') file = true
      else if (value !== 'other') words.push(...value)
    }
  }
  for (const [name, { type }] of Object.entries(options))
    if (!named.has(`--${name}`) && help.includes(`--${name}`))
      named.set(`--${name}`, type === 'string' ? 'other' : null)
  for (const name of ['--help', '--json']) named.set(name, null)
  return {
    options: [...named].map(([name, value]) => ({ name, value })),
    words,
    file,
    names: (takes ?? takesMore) !== undefined,
  }
}

interface NextWord {
  readonly word: string
  readonly summary: string
}

/** The position after the words of a command or a group. The first position is before any word. */
export interface CompletionPoint {
  readonly path: string
  /** The words that continue the name of a command. */
  readonly next: readonly NextWord[]
  readonly options: readonly Option[]
  /** The words accepted as an argument. */
  readonly words: readonly string[]
  /** Whether an argument may be a file. */
  readonly file: boolean
  /** Whether an argument may be the name of an item. */
  readonly names: boolean
}

const HELP: Option = { name: '--help', value: null }
const BEFORE_ALL: CompletionPoint = {
  path: '',
  next: [{ word: 'help', summary: 'Show all commands, or explain one' }],
  options: [HELP, { name: '--version', value: null }],
  words: [],
  file: false,
  names: false,
}

/** Returns a name and all its beginnings: `token` and `token create` for `token create`. */
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
    summary: names.get(begin + word) ?? TOPICS[begin + word] ?? '',
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
    if (listed === undefined)
      return { path, next, options: [HELP], words: [], file: false, names: false }
    return { path, next, ...usageOf(await listed.load()) }
  })
  const first = { ...BEFORE_ALL, next: [...nextOf('', names), ...BEFORE_ALL.next] }
  const help = { ...BEFORE_ALL, path: 'help', next: nextOf('', names), options: [HELP] }
  return [first, help, ...(await Promise.all(below))]
}

/** Returns the options that take a value, each with the path of its position. */
export const valuesIn = (places: readonly CompletionPoint[]) =>
  places.flatMap(({ path, options }) =>
    options.flatMap(({ name, value }) => (value === null ? [] : [{ path, name, value }])),
  )

/** Returns a text in single quotes for a Bourne-compatible shell. */
export const quotedForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * Reads the values of options and arguments from the usage line of a command, their only list.
 */
import type { Command } from '../command.ts'

/**
 * What a position accepts: a file name, one of several words, or a value unknown to the shell.
 */
export type Value = 'file' | 'other' | readonly string[]

export interface Option {
  /** The name with its dashes. */
  readonly name: string
  /** null if the option takes no value. */
  readonly value: Value | null
}

export interface Usage {
  readonly options: readonly Option[]
  /** The words accepted as an argument. */
  readonly words: readonly string[]
  /** Whether an argument may be a file. */
  readonly file: boolean
}

const isWord = (text: string) => /^[a-z][a-z0-9-]*$/.test(text)
/** `STAMP` stands for the file of a stamp. */
const isFile = (text: string) => /^(\w+_)?FILE$|^STAMP$/.test(text)

function valueOf(placeholder: string): Value {
  const parts = placeholder.split('|')
  if (parts.some(isFile)) return 'file'
  return parts.length > 1 && parts.every(isWord) ? parts : 'other'
}

/**
 * Parses a usage line. Omits options that neither it nor the help names: only the program itself
 * uses those.
 */
export function usageOf({ usage, help, options = {} }: Command): Usage {
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
    if (known?.type === 'string') named.set(part, valueOf(parts[++i] ?? ''))
    else if (known !== undefined) named.set(part, null)
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
  return { options: [...named].map(([name, value]) => ({ name, value })), words, file }
}

/** Parses what follows the name of a command: options and arguments. */
import { parseArgs } from 'node:util'
import { suggestion, suggestionAfter } from './help/command-words.ts'
import { type Command, type Invocation, UsageError } from './command.ts'

const COMMON = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
} as const

/** Returns the names of options in a list; one of each group is enough. */
function named(groups: readonly (readonly string[])[]): string {
  const names = groups.map((group) => group.map((name) => `--${name}`).join(' or '))
  const last = names.pop() ?? ''
  return names.length === 0 ? last : `${names.join(', ')} and ${last}`
}

/** Returns the example of a command in an error; empty if it has none. */
function exampleOf({ examples = {} }: Command): string {
  const [example] = Object.keys(examples)
  return example === undefined ? '' : ` Example: countersignd ${example}`
}

/** Returns the options and arguments of a command as typed. */
export function parseCommand(name: string, command: Command, argv: readonly string[]) {
  const options: NonNullable<Command['options']> = { ...COMMON, ...command.options }
  const help = `"countersignd ${name} --help" shows how to use it.`
  const given = { args: [...argv], options, allowPositionals: true }
  // parseArgs would report these faults in its own words, and only some of them with the option.
  for (const token of parseArgs({ ...given, strict: false, tokens: true }).tokens) {
    if (token.kind !== 'option') continue
    const { name: option, rawName, value, inlineValue } = token
    const type = Object.hasOwn(options, option) ? options[option]?.type : undefined
    if (type === undefined)
      throw new UsageError(
        `"${name}" has no option ${rawName}.${suggestion(
          rawName,
          Object.keys(options).map((one) => `--${one}`),
        )} ${help}`,
      )
    if (type === 'boolean' && value !== undefined)
      throw new UsageError(`${rawName} takes no value. ${help}`)
    if (type === 'string' && (value === undefined || (!inlineValue && /^-./.test(value))))
      throw new UsageError(
        `${rawName} needs a value. If the value begins with "-", write ${rawName}=VALUE. ${help}`,
      )
  }
  const { values, positionals } = parseArgs(given)
  return { options: values as Invocation['options'], args: positionals }
}

/**
 * Checks the number of arguments, and that each option that must be given is there.
 * @throws UsageError
 */
export function requireComplete(
  name: string,
  command: Command,
  { args, options }: Pick<Invocation, 'args' | 'options'>,
): void {
  const [least, most] = command.args
  if (args.length < least || args.length > most) {
    const meant = suggestionAfter(name.split(' '), args.slice(0, 1))
    throw new UsageError(`${meant} Usage: countersignd ${name} ${command.usage}`.trim())
  }
  const missing = (command.needs ?? []).filter((group) =>
    group.every((option) => options[option] === undefined),
  )
  if (missing.length > 0) throw new UsageError(`Missing: ${named(missing)}.${exampleOf(command)}`)
}

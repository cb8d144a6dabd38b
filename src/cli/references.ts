/**
 * Replaces names in the arguments and options of a command by ids.
 *
 * A whole id needs no request, so it is never compared with names. For any other text, the lists of
 * its kinds are read once.
 */
import {
  type NamingTexts,
  isIdOf,
  isSettled,
  kindsOf,
  newFinder,
  withId,
} from '../api/naming/finder.ts'
import { NAMED_KINDS, type Reference } from '../api/naming/kinds.ts'
import { noSuch } from './by-id.ts'
import type { Api, Command } from './command.ts'
import { shown } from './table.ts'

type Options = Readonly<Record<string, string | boolean | undefined>>

const TEXTS: NamingTexts = {
  shown,
  nameOf: ({ command }) => `"countersignd ${command}"`,
  again: 'Run the command again',
}

/** Returns the finder of one command. */
export const newNameFinder = (api: Api) => newFinder(api, TEXTS)

/** The arguments and options of a command, with ids in place of names. */
export interface Resolved {
  readonly args: readonly string[]
  readonly options: Options
  /** Returns the name of an item that the user named, with its id; otherwise the id. */
  readonly called: (id: string) => string
}

/** Returns what the argument at a position can name; undefined if it is no reference. */
export const referenceAt = ({ takes = [], takesMore }: Command, at: number) =>
  at < takes.length ? (takes[at] ?? undefined) : takesMore

/**
 * Replaces each name in the arguments and options of a command by the id of what it names.
 * @param withApi opens the API; it is called only if there is a name
 * @throws AppError `not_found`; AmbiguousNameError
 */
export async function resolveNames(
  command: Command,
  given: { readonly args: readonly string[]; readonly options: Options },
  withApi: <T>(work: (api: Api) => Promise<T>) => Promise<T>,
): Promise<Resolved> {
  const args = [...given.args]
  const options: Record<string, unknown> = { ...given.options }
  const labels = new Map<string, string>()
  /** Each name: what it can mean, its text, and where its id is put. */
  const names: [reference: Reference, text: string, put: (id: string) => void][] = []
  const note = (reference: Reference | undefined, text: string, put: (id: string) => void) => {
    if (reference !== undefined && !isSettled(reference, text)) names.push([reference, text, put])
  }
  for (const [at, text] of args.entries())
    note(referenceAt(command, at), text, (id) => void (args[at] = id))
  for (const [name, value] of Object.entries(given.options)) {
    const reference = command.options?.[name]?.takes
    if (typeof value === 'string') note(reference, value, (id) => void (options[name] = id))
    else if (Array.isArray(value)) {
      const list = [...(value as string[])]
      options[name] = list
      for (const [at, text] of list.entries()) note(reference, text, (id) => void (list[at] = id))
    }
  }
  if (names.length > 0)
    await withApi(async (api) => {
      const finder = newNameFinder(api)
      for (const [reference, text, put] of names) {
        if (isIdOf(NAMED_KINDS, text)) throw noSuch(kindsOf(reference)[0]!)
        // Members are those of the connection that the first argument names.
        const { id, label } = await finder.find(reference, text, { within: args[0] ?? '' })
        labels.set(id, label)
        put(id)
      }
    })
  const called = (id: string) => withId(labels.get(id) ?? '', id)
  return { args, options: options as Options, called }
}

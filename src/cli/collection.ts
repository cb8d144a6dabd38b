/** Creates the commands that most collections have: list, create, update and delete. */
import { every } from '../api/cursor.ts'
import { type NamedKind, kindOf } from '../api/naming/kinds.ts'
import { byId } from './by-id.ts'
import type { Api, Command } from './command.ts'
import { type LabelledAnswer, printLabelled } from './labels.ts'
import {
  type FieldValues,
  type OptionFields,
  changesOf,
  optionsOf,
  valuesOf,
} from './option-fields.ts'
import { shown, table } from './table.ts'

interface Item {
  readonly id: string
  readonly name: string
}

/** Returns the line that shows an item to a script: its id and its name. */
export const itemLine = ({ id, name }: Item): string => `${id}  ${shown(name)}`

/** Returns the answer that shows an item: its name and its id. */
export const itemAnswer = (item: Item): LabelledAnswer => ({
  bare: itemLine(item),
  rows: [
    ['Name', item.name],
    ['Id', item.id],
  ],
})

/** Creates a command that lists all items in a table. */
export function listCommand<Item, Filters extends OptionFields, More = undefined>(of: {
  readonly usage?: string
  readonly help: string
  /** The query parameters of the list, and the options that set them. */
  readonly filters?: Filters
  readonly work: (
    api: Api,
    query: { limit: number; cursor?: string } & FieldValues<Filters>,
  ) => Promise<{ readonly items: readonly Item[]; readonly next_cursor: string | null }>
  /** Returns whether an item has ended. Such items are listed only with --all or --state. */
  readonly hasEnded?: (item: Item) => boolean
  /** Reads what only the table shows besides the items. */
  readonly more?: (api: Api) => Promise<More>
  readonly heading: readonly string[]
  readonly row: (item: Item, more: More) => readonly string[]
}): Command {
  const { usage = '[--json]', help, filters = {} as Filters, hasEnded, heading, row } = of
  const read = (api: Api, query: FieldValues<Filters>) =>
    every((page) => of.work(api, { ...page, ...query }))
  return {
    usage,
    help,
    options: {
      ...optionsOf(filters),
      ...(hasEnded === undefined ? {} : { all: { type: 'boolean' } }),
    },
    args: [0, 0],
    async run({ options, io, json, withApi, print, say }) {
      const those = valuesOf(filters, options)
      const { all, more } = await withApi(async (api) => ({
        all: await read(api, those),
        more: (json ? undefined : await of.more?.(api)) as More,
      }))
      const isWhole = hasEnded === undefined || options['all'] === true || 'state' in those
      const items = isWhole ? all : all.filter((item) => !hasEnded(item))
      const lines = json
        ? []
        : await table(
            heading,
            items.map((item) => row(item, more)),
            io.stdout,
          )
      print({ items }, lines)
      const hidden = all.length - items.length
      if (hidden > 0)
        say(`${hidden} more ${hidden === 1 ? 'has' : 'have'} ended. To list all: --all`)
    },
  }
}

/** Creates a command that creates an item from options. */
export function createCommand<Item, Fields extends OptionFields, Needed extends keyof Fields>(of: {
  readonly usage: string
  readonly help: string
  readonly examples?: Command['examples']
  readonly fields: Fields
  /** The fields that must be given. */
  readonly needed: readonly Needed[]
  readonly work: (
    api: Api,
    body: FieldValues<Fields> & Required<Pick<FieldValues<Fields>, Needed>>,
  ) => Promise<Item>
  readonly shows: (item: Item) => LabelledAnswer
  /** Returns a text about what the user can do next. */
  readonly next?: (item: Item) => string
}): Command {
  const { usage, help, examples = {}, fields, needed, work, shows, next } = of
  return {
    usage,
    help,
    examples,
    options: optionsOf(fields),
    needs: needed.map((name) => Object.keys(fields[name]!.options)),
    args: [0, 0],
    check: ({ options }) => void valuesOf(fields, options),
    async run(invocation) {
      const { options, withApi, say } = invocation
      const body = valuesOf(fields, options)
      const item = await withApi((api) => work(api, body as Parameters<typeof work>[1]))
      printLabelled(invocation, item, shows(item))
      if (next !== undefined) say(next(item))
    },
  }
}

/** Creates a command that changes fields of an item. */
export function updateCommand<Item, Fields extends OptionFields>(of: {
  readonly kind: NamedKind
  readonly usage: string
  readonly help: string
  readonly fields: Fields
  /** The remedy to show if no option was given. */
  readonly remedy: string
  readonly work: (api: Api, id: string, body: FieldValues<Fields>) => Promise<Item>
  readonly shows: (item: Item) => LabelledAnswer
}): Command {
  const { kind, usage, help, fields, remedy, work, shows } = of
  return {
    usage,
    help,
    options: optionsOf(fields),
    args: [1, 1],
    takes: [kind],
    check: ({ options }) => void changesOf(fields, options, remedy),
    async run(invocation) {
      const { args, options, withApi } = invocation
      const [id = ''] = args
      const body = changesOf(fields, options, remedy)
      const item = await byId(kind, () => withApi((api) => work(api, id, body)))
      printLabelled(invocation, item, shows(item))
    },
  }
}

/** Creates a command that deletes an item. */
export function deleteCommand(of: {
  readonly kind: NamedKind
  readonly help: string
  readonly work: (api: Api, id: string) => Promise<unknown>
  /** The item's state in the JSON output (default: `deleted`). */
  readonly state?: string
  /** Returns the message for people, from the item's name and id. */
  readonly done?: (item: string) => string
}): Command {
  const { kind, help, work, state = 'deleted', done = (item) => `Deleted ${item}.` } = of
  return {
    usage: `${kindOf(kind).placeholder} [--json]`,
    help,
    args: [1, 1],
    takes: [kind],
    async run({ args: [id = ''], called, withApi, print, say }) {
      await byId(kind, () => withApi((api) => work(api, id)))
      print({ id, state }, [])
      say(done(called(id)))
    },
  }
}

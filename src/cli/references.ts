/**
 * Replaces names in the arguments and options of a command by ids.
 *
 * A whole id needs no request, so it is never compared with names. For any other text, the lists of
 * its kinds are read once: a name or an address, or the beginning of one id.
 */
import { inQuotes } from '../api/name-text.ts'
import { comparableName } from '../crypto/encoding/display-names.ts'
import { isId } from '../crypto/encoding/id.ts'
import { AppError } from '../errors.ts'
import { noSuch } from './by-id.ts'
import {
  AmbiguousNameError,
  type Api,
  type Command,
  type NamedKind,
  type Reference,
} from './command.ts'
import { NAMED_KINDS, type NamedItem, kindOf } from './kinds.ts'
import { beginningOf, brief, shown } from './table.ts'

/** How many characters after the prefix the beginning of an id must have. */
const LEAST = 4

/** How many items of a kind an error lists. */
const MOST_LISTED = 5

type Options = Readonly<Record<string, string | boolean | undefined>>

/** An item, and its kind. */
interface Found {
  readonly kind: NamedKind
  readonly item: NamedItem
}

/** Returns the kinds of items that a reference can name. */
const kindsOf = (reference: Reference): readonly NamedKind[] =>
  typeof reference === 'string' ? [reference] : reference.filter((kind) => kind !== 'address')

const takesAddress = (reference: Reference): boolean =>
  typeof reference !== 'string' && reference.includes('address')

const isWhole = (kinds: readonly NamedKind[], text: string): boolean =>
  kinds.some((kind) => kindOf(kind).prefixes.some((prefix) => isId(prefix, text)))

/** Returns whether a text needs no list: it is a whole id, or an address where one is accepted. */
const isSettled = (reference: Reference, text: string): boolean =>
  isWhole(kindsOf(reference), text) || (takesAddress(reference) && text.indexOf('@') > 0)

const folded = (name: string) => name.normalize('NFC').trim().toLowerCase()

/** Returns whether a text is the beginning of an id, and not only of its prefix. */
function isBeginning({ kind, item }: Found, text: string): boolean {
  const beginning = text.trim().toLowerCase()
  const isLong = kindOf(kind).prefixes.some(
    (prefix) => beginning.startsWith(prefix) && beginning.length >= prefix.length + LEAST,
  )
  return isLong && item.id.startsWith(beginning)
}

/**
 * Returns the items that have a name.
 *
 * The user's own names come before claims of other people, so that no one can take over a name or
 * make it ambiguous. Names of items that have ended come last. In each group, the same spelling
 * comes before one that only looks the same.
 */
function withName(all: readonly Found[], text: string): readonly Found[] {
  const groups = [
    all.map((one) => ({ one, names: one.item.isPast ? [] : one.item.names })),
    all.map((one) => ({ one, names: one.item.isPast ? [] : (one.item.claims ?? []) })),
    all.map((one) => ({ one, names: [...one.item.names, ...(one.item.claims ?? [])] })),
  ]
  for (const group of groups)
    for (const formOf of [folded, comparableName]) {
      const form = formOf(text)
      if (form === '') continue
      const found = group.filter(({ names }) => names.some((name) => formOf(name) === form))
      if (found.length > 0) return found.map(({ one }) => one)
    }
  return []
}

/** Returns the name of an item in quotes; empty if it has none. */
function labelOf({ names, claims = [] }: NamedItem): string {
  const quoted = (name: string) => inQuotes(shown(brief(name)))
  if (names[0] !== undefined) return quoted(names[0])
  return claims[0] === undefined ? '' : `calls itself ${quoted(claims[0])}`
}

/** Returns a name with its id; the id alone if there is no name. */
const withId = (label: string, id: string): string => (label === '' ? id : `${label} (${id})`)

/** Returns the items that a user can name, for an error about a name that none of them has. */
function choices(kinds: readonly NamedKind[], all: readonly Found[]): string {
  const sentences = kinds.map((kind) => {
    const { many, list } = kindOf(kind)
    const items = all.filter((one) => one.kind === kind && one.item.isPast !== true)
    if (items.length === 0) return `${many}: none.`
    const ids = all.map((one) => one.item.id)
    const listed = items
      .slice(0, MOST_LISTED)
      .map(({ item }) => withId(labelOf(item), beginningOf(item.id, ids, LEAST)))
    const more = items.length - listed.length
    const rest = more === 0 ? '' : ` and ${more} more ("countersignd ${list}")`
    return `${many}: ${listed.join(', ')}${rest}.`
  })
  return sentences.join(' ')
}

function none(reference: Reference, all: readonly Found[], text: string): AppError {
  const kinds = kindsOf(reference)
  const isPerson = kinds.some((kind) => kindOf(kind).isPerson)
  const quoted = inQuotes(shown(brief(text)))
  const what = isPerson ? `No one here is called ${quoted}.` : `Nothing here is called ${quoted}.`
  const other = takesAddress(reference)
    ? [
        'To name someone else, give their e-mail address, their @handle or the id of their account (acc_…).',
      ]
    : []
  const remedies = kinds.flatMap((kind) => kindOf(kind).remedy ?? [])
  const sentences = [what, choices(kinds, all), ...other, ...remedies]
  return new AppError('not_found', sentences.join(' '))
}

function ambiguous(found: readonly Found[], text: string): AmbiguousNameError {
  const lines = found.map(({ kind, item }) => {
    const ended = item.isPast === true ? ', ended' : ''
    return `  ${item.id}  ${labelOf(item)} (${kind}${ended})`
  })
  return new AmbiguousNameError(
    `${inQuotes(shown(brief(text)))} can mean several. Nothing was done. Run the command again with one of these ids:\n${lines.join('\n')}`,
  )
}

/**
 * Reads the items that a reference can name.
 * @param args the arguments of the command, with ids in place of names
 */
export async function readAll(
  api: Api,
  reference: Reference,
  args: readonly string[],
): Promise<Found[]> {
  const all: Found[] = []
  for (const kind of kindsOf(reference))
    for (const item of await kindOf(kind).read(api, args)) all.push({ kind, item })
  return all
}

/**
 * Returns the account with a handle.
 *
 * A handle needs the `@`, so that a mistyped name of a contact never means a stranger.
 * @throws AppError `not_found`
 */
async function withHandle(api: Api, handle: string): Promise<NamedItem> {
  try {
    const { id, display_name } = await api.profiles.read({ id: handle.toLowerCase() })
    return { id, names: [], claims: [display_name] }
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error
    const quoted = inQuotes(shown(brief(`@${handle}`)))
    throw new AppError('not_found', `No account has the handle ${quoted}. Check its spelling.`)
  }
}

/**
 * Finds the item that a text names.
 * @throws AppError `not_found`; AmbiguousNameError
 */
async function find(
  api: Api,
  reference: Reference,
  text: string,
  args: readonly string[],
): Promise<NamedItem> {
  const kinds = kindsOf(reference)
  if (isWhole(NAMED_KINDS, text)) throw noSuch(kinds[0]!)
  if (takesAddress(reference) && text.startsWith('@')) return withHandle(api, text.slice(1))
  const all = await readAll(api, reference, args)
  const found = new Set([...withName(all, text), ...all.filter((one) => isBeginning(one, text))])
  const [only, ...more] = found
  if (only === undefined) throw none(reference, all, text)
  if (more.length > 0) throw ambiguous([...found], text)
  return only.item
}

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
      for (const [reference, text, put] of names) {
        const item = await find(api, reference, text, args)
        labels.set(item.id, labelOf(item))
        put(item.id)
      }
    })
  const called = (id: string) => withId(labels.get(id) ?? '', id)
  return { args, options: options as Options, called }
}

/**
 * Finds the item that a text names: by a name, an address, or the beginning of its id.
 *
 * The command line and the tools use it. Each reads the lists with the rights of its caller.
 */
import { comparableName } from '../../crypto/encoding/display-names.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { brief, inQuotes } from '../name-text.ts'
import { AmbiguousNameError } from './ambiguous.ts'
import { beginningOf } from './beginnings.ts'
import {
  type NamedItem,
  type NamedKind,
  type NamingApi,
  type Operation,
  type Reference,
  kindOf,
} from './kinds.ts'

/** How many characters after the prefix the beginning of an id must have. */
const LEAST = 4

/** How many items of a kind an error lists. */
const MOST_LISTED = 5

/** How many meanings of a name an error lists. */
const MOST_MEANINGS = 20

/** An item, and its kind. */
export interface Found {
  readonly kind: NamedKind
  readonly item: NamedItem
}

/** How errors address the reader. */
export interface NamingTexts {
  /** Returns a text with the characters replaced that its display would interpret. */
  readonly shown: (text: string) => string
  /** Returns the name of an operation, as the reader calls it. */
  readonly nameOf: (operation: Operation) => string
  /** What the reader repeats, such as "Run the command again". */
  readonly again: string
}

/** What limits a search. */
export interface Search {
  /** The id of the connection in which members are looked up. */
  readonly within?: string
  /** Whether names that only other people claim do not count. */
  readonly isOwnOnly?: boolean
}

/** Returns the kinds of items that a reference can name. */
export const kindsOf = (reference: Reference): readonly NamedKind[] =>
  typeof reference === 'string'
    ? [reference]
    : reference.filter((kind) => kind !== 'address' && kind !== 'handle')

const takesAddress = (reference: Reference): boolean =>
  typeof reference !== 'string' && reference.includes('address')

const takesHandle = (reference: Reference): boolean =>
  takesAddress(reference) || (typeof reference !== 'string' && reference.includes('handle'))

/** Returns whether a text is a whole id of one of these kinds. */
export const isIdOf = (kinds: readonly NamedKind[], text: string): boolean =>
  kinds.some((kind) => kindOf(kind).prefixes.some((prefix) => isId(prefix, text)))

/** Returns whether a text needs no list: it is a whole id, or an address where one is accepted. */
export const isSettled = (reference: Reference, text: string): boolean =>
  isIdOf(kindsOf(reference), text) || (takesAddress(reference) && text.indexOf('@') > 0)

const folded = (name: string) => name.normalize('NFC').trim().toLowerCase()

/** Returns whether a text is the beginning of an id, and not only of its prefix. */
function isBeginning({ kind, item }: Found, text: string): boolean {
  const beginning = text.trim().toLowerCase()
  const isLong = kindOf(kind).prefixes.some(
    (prefix) => beginning.startsWith(prefix) && beginning.length >= prefix.length + LEAST,
  )
  return isLong && item.id.startsWith(beginning)
}

/** A group of names: whether the user chose or confirmed them, and the names of an item in it. */
interface NameGroup {
  readonly isOwn: boolean
  readonly namesOf: (item: NamedItem) => readonly string[]
}

/**
 * The names that count, in the order in which they do.
 *
 * The user's own names come before claims of other people, so that no one can take over a name or
 * make it ambiguous. Names of items that have ended come last. The user's name of an ended item and
 * a claim are ambiguous, so that no one takes over the name of an expired guest code.
 */
const RANKS: readonly (readonly NameGroup[])[] = [
  [{ isOwn: true, namesOf: ({ names, isPast }) => (isPast ? [] : names) }],
  [
    { isOwn: false, namesOf: ({ claims, isPast }) => (isPast ? [] : (claims ?? [])) },
    { isOwn: true, namesOf: ({ names, isPast }) => (isPast ? names : []) },
  ],
  [{ isOwn: false, namesOf: ({ claims }) => claims ?? [] }],
]

/** Returns the items by the forms of their names. */
function byForm(
  all: readonly Found[],
  namesOf: (item: NamedItem) => readonly string[],
  formOf: (name: string) => string,
): ReadonlyMap<string, readonly Found[]> {
  const pairs = all.flatMap((one) =>
    [...new Set(namesOf(one.item).map(formOf))].map((form): [string, Found] => [form, one]),
  )
  const groups = Map.groupBy(pairs, ([form]) => form)
  return new Map([...groups].map(([form, found]) => [form, found.map(([, one]) => one)]))
}

/** Items with an index of their names. */
interface Lists {
  readonly all: readonly Found[]
  /** Returns the items of the first rank that has the name; empty if no rank has it. */
  readonly withName: (text: string, isOwn: readonly boolean[]) => readonly Found[]
}

/** Creates the index of items. In each rank, the same spelling comes before a look-alike. */
function indexed(all: readonly Found[]): Lists {
  const indexes = RANKS.flatMap((groups) =>
    [folded, comparableName].map((formOf) =>
      groups.map(({ isOwn, namesOf }) => {
        // Most names are found in the first index.
        let made: ReturnType<typeof byForm> | undefined
        return { isOwn, formOf, read: () => (made ??= byForm(all, namesOf, formOf)) }
      }),
    ),
  )
  return {
    all,
    withName(text, wanted) {
      for (const groups of indexes) {
        const found = groups.flatMap(({ isOwn, formOf, read }) => {
          const form = formOf(text)
          return form === '' || !wanted.includes(isOwn) ? [] : (read().get(form) ?? [])
        })
        if (found.length > 0) return found
      }
      return []
    },
  }
}

/** Returns a name with its id; the id alone if there is no name. */
export const withId = (label: string, id: string): string =>
  label === '' ? id : `${label} (${id})`

/** Returns the finder of one request. It reads each list once. */
export function newFinder(api: NamingApi, { shown, nameOf, again }: NamingTexts) {
  const read = new Map<string, Promise<Lists>>()
  const quoted = (text: string) => inQuotes(shown(brief(text)))

  /** Returns the name of an item in quotes; empty if it has none. */
  function labelOf({ names, claims = [] }: NamedItem): string {
    if (names[0] !== undefined) return quoted(names[0])
    return claims[0] === undefined ? '' : `calls itself ${quoted(claims[0])}`
  }

  /** Returns the items that can be named, for an error about a name that none of them has. */
  function choices(kinds: readonly NamedKind[], all: readonly Found[]): string {
    const ids = all.map((one) => one.item.id)
    const sentences = kinds.map((kind) => {
      const { many, list } = kindOf(kind)
      const items = all.filter((one) => one.kind === kind && one.item.isPast !== true)
      if (items.length === 0) return `${many}: none.`
      const listed = items
        .slice(0, MOST_LISTED)
        .map(({ item }) => withId(labelOf(item), beginningOf(item.id, ids, LEAST)))
      const more = items.length - listed.length
      const rest = more === 0 ? '' : ` and ${more} more (${nameOf(list)})`
      return `${many}: ${listed.join(', ')}${rest}.`
    })
    return sentences.join(' ')
  }

  function none(reference: Reference, all: readonly Found[], text: string): AppError {
    const kinds = kindsOf(reference)
    const isPerson = kinds.some((kind) => kindOf(kind).isPerson)
    const what = `${isPerson ? 'No one' : 'Nothing'} here is called ${quoted(text)}.`
    const address = takesAddress(reference) ? 'e-mail address, their ' : ''
    const other = takesHandle(reference)
      ? [`To name someone else, give their ${address}@handle or the id of their account (acc_…).`]
      : []
    const remedies = kinds.flatMap((kind) => kindOf(kind).remedy?.(nameOf) ?? [])
    return new AppError('not_found', [what, choices(kinds, all), ...other, ...remedies].join(' '))
  }

  /** Returns a sentence, and the items with their ids, one in a line. */
  function listing(sentence: string, found: readonly Found[]): string {
    const lines = found.slice(0, MOST_MEANINGS).map(({ kind, item }) => {
      const ended = item.isPast === true ? ', ended' : ''
      return `  ${item.id}  ${labelOf(item)} (${kind}${ended})`
    })
    const more = found.length - lines.length
    return [sentence, ...lines, ...(more === 0 ? [] : [`  and ${more} more`])].join('\n')
  }

  /**
   * Returns the account with a handle.
   *
   * A handle needs the `@`, so that a mistyped name of a contact never means a stranger.
   * @throws AppError `not_found`
   */
  async function withHandle(handle: string): Promise<NamedItem> {
    try {
      const { id, display_name } = await api.profiles.read({ id: handle.toLowerCase() })
      return { id, names: [], claims: [display_name] }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error
      const sentence = `No account has the handle ${quoted(`@${handle}`)}. Check its spelling.`
      throw new AppError('not_found', sentence)
    }
  }

  async function listsOf(reference: Reference, within: string): Promise<Lists> {
    const all: Found[] = []
    for (const kind of kindsOf(reference))
      for (const item of await kindOf(kind).read(api, within)) all.push({ kind, item })
    return indexed(all)
  }

  function listed(reference: Reference, within: string): Promise<Lists> {
    const key = [...kindsOf(reference), within].join()
    const known = read.get(key) ?? listsOf(reference, within)
    read.set(key, known)
    return known
  }

  async function itemOf(
    reference: Reference,
    text: string,
    { within = '', isOwnOnly = false }: Search,
  ): Promise<NamedItem> {
    if (takesHandle(reference) && text.startsWith('@')) return withHandle(text.slice(1))
    const { all, withName } = await listed(reference, within)
    const beginnings = all.filter((one) => isBeginning(one, text))
    // A person who claims the beginning of an id as their name must not make it ambiguous.
    const named = withName(text, isOwnOnly || beginnings.length > 0 ? [true] : [true, false])
    // An account can be of several kinds.
    const byId = Map.groupBy([...named, ...beginnings], ({ item }) => item.id)
    const found = [...byId.values()].map(([first]) => first!)
    const [only, ...more] = found
    if (more.length > 0)
      throw new AmbiguousNameError(
        listing(
          `${quoted(text)} can mean several. Nothing was done. ${again} with one of these ids:`,
          found,
        ),
      )
    if (only !== undefined) return only.item
    const claimed = withName(text, [false])
    if (claimed.length === 0) throw none(reference, all, text)
    throw new AppError(
      'conflict',
      listing(
        `${quoted(text)} is a name that only others claim, which is not enough for this. Nothing was done. ${again} with one of these ids:`,
        claimed,
      ),
      { details: { state: 'claimed_name' } },
    )
  }

  return {
    /** Returns the items that a reference can name. */
    read: async (reference: Reference, within = ''): Promise<readonly Found[]> =>
      (await listed(reference, within)).all,

    /**
     * Finds the item that a text names. Returns its id, and its name in quotes.
     * @throws AppError `not_found`, or `conflict` if only others claim the name;
     *   AmbiguousNameError
     */
    async find(reference: Reference, text: string, search: Search = {}) {
      const item = await itemOf(reference, text, search)
      return { id: item.id, label: labelOf(item) }
    },
  }
}

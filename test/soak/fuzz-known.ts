/**
 * Collects values of earlier answers: ids, words, cursors, links. Requests are built from them,
 * so that they reach existing resources.
 */

/**
 * The number of first values of a kind that are kept for ever, with those of other accounts among
 * them.
 */
const FIRST = 12
/** The number of newest values that are kept too, since most older resources were deleted. */
const NEWEST = 24

interface Ring {
  readonly first: string[]
  readonly newest: string[]
}

export interface Known {
  /**
   * Collects the values of an answer. `path` is the row’s: ids listed there fill the parameter of
   * the paths below it.
   */
  learn(path: string, value: unknown): void
  /** Adds one text under a name. */
  keep(name: string, text: string): void
  /** Returns one of the values with this name; `fallback` if there is none. */
  one(name: string, at: number, fallback: string): string
}

const ID = /^([a-z]{3}_)[0-9a-z]{26}$/
const JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** Longer texts are content and are not collected. */
const LONGEST = 8192
const MOST_ITEMS = 20

/** Returns the last segment of a path that is not a parameter. */
export const collectionOf = (path: string): string =>
  path.split('/').findLast((segment) => segment !== '' && !segment.startsWith('{')) ?? ''

export function newKnown(): Known {
  const rings = new Map<string, Ring>()

  function keep(name: string, text: string): void {
    let ring = rings.get(name)
    if (ring === undefined) rings.set(name, (ring = { first: [], newest: [] }))
    if (ring.first.includes(text) || ring.newest.includes(text)) return
    if (ring.first.length < FIRST) ring.first.push(text)
    else if (ring.newest.push(text) > NEWEST) ring.newest.shift()
  }

  function note(name: string, value: unknown): void {
    if (typeof value === 'string') {
      if (value.length > LONGEST) return
      if (name !== '') keep(name, value)
      const [, prefix] = ID.exec(value) ?? []
      if (prefix !== undefined) {
        keep(prefix, value)
        keep('id', value)
      } else if (value.length > 100 && JWS.test(value)) keep('jws', value)
    } else if (Array.isArray(value)) {
      for (const one of value.slice(0, MOST_ITEMS)) note(name, one)
    } else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) note(key, inner)
  }

  function learn(path: string, value: unknown): void {
    note('', value)
    const { items, ...one } = (value ?? {}) as { items?: unknown }
    for (const made of Array.isArray(items) ? items.slice(0, MOST_ITEMS) : [one]) {
      const { id, user_id } = (made ?? {}) as { id?: unknown; user_id?: unknown }
      const named = id ?? user_id
      if (typeof named === 'string') keep(`/${collectionOf(path)}`, named)
    }
  }

  return {
    learn,
    keep,
    one(name, at, fallback) {
      const ring = rings.get(name)
      if (ring === undefined) return fallback
      const all = ring.first.length + ring.newest.length
      const place = at % all
      return (
        place < ring.first.length ? ring.first[place] : ring.newest[place - ring.first.length]
      ) as string
    },
  }
}

/**
 * Slugs of open links. Users read them aloud and type them, so proposals consist of a name or of
 * words.
 */
import { randomInt } from 'node:crypto'
import type { Kysely } from 'kysely'
import { wordsAt } from '../../crypto/words.ts'
import { AppError } from '../../errors.ts'
import type { Schema } from '../db/schema.ts'

const LONGEST = 40
const SHORTEST = 3
const WORDS_IN_LIST = 4096
/**
 * Leaves room for a hyphen and a word of nine letters, which distinguish a slug from a taken one.
 */
const LONGEST_BASE = LONGEST - 10
/**
 * How many proposals are looked up at once; some of them are free, since each has random words.
 */
const PROPOSALS = 12

/** Latin letters without a decomposition into ASCII. */
const SPELLED: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ı: 'i',
}

/**
 * Returns the slug of a name with as many of its words as fit. It has a-z, 0-9 and single
 * hyphens, and is empty for a name in another script.
 */
function spelled(name: string, longest: number): string {
  const letters = name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\0-\x7f]/g, (letter) => SPELLED[letter] ?? letter)
  const [first = '', ...rest] = letters.split(/[^a-z0-9]+/).filter((part) => part !== '')
  let slug = first.slice(0, longest)
  for (const part of rest) {
    if (slug.length + 1 + part.length > longest) break
    slug += `-${part}`
  }
  return slug
}

const someWords = (count: number) =>
  wordsAt(Array.from({ length: count }, () => randomInt(WORDS_IN_LIST)))

/** Returns proposals in order of preference. */
function proposalsFor(names: readonly string[]): string[] {
  const bases = names.map((name) => spelled(name, LONGEST)).filter((slug) => slug !== '')
  const base = spelled(bases[0] ?? '', LONGEST_BASE)
  const further = Array.from({ length: PROPOSALS }, () =>
    base === '' ? someWords(3).join('-') : [base, ...someWords(1)].join('-'),
  )
  // Free even if the name is very common.
  const last = someWords(3).join('-')
  return [...bases, ...further, last].filter((slug) => slug.length >= SHORTEST)
}

/**
 * Returns a readable slug that is free at this moment.
 * @param names for the slug, the best first
 * @throws AppError `conflict` in the unlikely case that none was found
 */
export async function freeSlug(db: Kysely<Schema>, names: readonly string[]): Promise<string> {
  const proposals = proposalsFor(names)
  const rows = await db
    .selectFrom('open_links')
    .select('slug')
    .where('slug', 'in', proposals)
    .execute()
  const taken = new Set(rows.map(({ slug }) => slug))
  const free = proposals.find((slug) => !taken.has(slug))
  if (free === undefined)
    throw new AppError('conflict', 'No slug was found that is free: choose one yourself.')
  return free
}

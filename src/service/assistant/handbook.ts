/**
 * The handbook: README.md and docs/, with a full-text search. It answers questions if no assistant
 * is configured. Otherwise it provides the sections that are sent to the assistant with a question.
 */
import { DatabaseSync } from 'node:sqlite'
import { asset } from '../../runtime/executable.ts'

export interface Section {
  /** The section's heading and the headings above it, outermost first. */
  readonly title: string
  /** The file that contains the section. */
  readonly source: string
  /** Markdown. */
  readonly text: string
}

export interface Handbook {
  /**
   * Returns the sections that match a question best, best first. Rare words count more than common
   * ones. Parts of one section follow each other, in their order. Any text is a valid question.
   */
  find(question: string, most: number): Section[]
  /** The topics of the handbook: one line for each file. */
  readonly contents: readonly string[]
}

/**
 * A section is split at the first end of a paragraph after 700 characters. If there is none, as in
 * a long table or list, it is split at the first line end after 1,500 characters.
 */
const LONG = 700
const LONGEST = 1500

/** How many different words of a question are used for the search. */
const MOST_WORDS = 32

/** Stop words: words that occur in every text and do not help the search. */
const EVERYWHERE = new Set(
  (
    'a about all also am an and any are as ask at be because been but by can cannot could did do does doing don for from get gets ' +
    'had has have he hello help her here hi him his how i if in into is it its just know let like make may me mean might more most ' +
    'much must my need no not of on one only or our out please s say see shall she should so some t tell than thank thanks that ' +
    'the their them then there these they thing things this those to too up us use used want was we were what when where which ' +
    'while who whom whose why will with without would yes you your'
  ).split(' '),
)

/** A line with a picture, which is left out because it has no words to search for. */
const PICTURE = /^ *(!\[|<img )/

/** Splits a Markdown text into sections, at headings of the first three levels. */
export function sectionsOf(source: string, markdown: string): Section[] {
  const sections: Section[] = []
  const headings: string[] = []
  let lines: string[] = []
  let length = 0
  let inCode = false

  function flush(): void {
    const text = lines.join('\n').trim()
    if (text !== '') sections.push({ title: headings.join(' › '), source, text })
    lines = []
    length = 0
  }
  for (const line of markdown.split(/\r?\n/)) {
    const [, marks, heading] = (!inCode && /^(#{1,3}) +(.+)$/.exec(line)) || []
    if (marks !== undefined && heading !== undefined) {
      flush()
      headings.splice(marks.length - 1, headings.length, heading.trim())
      continue
    }
    if (/^ *(```|~~~)/.test(line)) inCode = !inCode
    if (!inCode && PICTURE.test(line)) continue
    lines.push(line)
    length += line.length + 1
    if (!inCode && (length >= LONGEST || (length >= LONG && line.trim() === ''))) flush()
  }
  flush()
  return sections
}

const wordsOf = (question: string): string[] => {
  const words = question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return [...new Set(words)].filter((word) => !EVERYWHERE.has(word)).slice(0, MOST_WORDS)
}

/** Returns the first heading of a file and the headings below it. */
function contentsOf(sections: readonly Section[]): string {
  const titles = new Set(sections.map(({ title }) => title.split(' › ', 2).join(' › ')))
  const [first = ''] = [...titles][0]?.split(' › ') ?? []
  const others = [...titles].filter((title) => title !== first)
  const below = others.map((title) => title.slice(title.indexOf(' › ') + 3))
  return below.length === 0 ? first : `${first}: ${below.join(', ')}`
}

/**
 * Returns a searchable handbook.
 * @param texts the Markdown texts by file name
 */
export function newHandbook(texts: Readonly<Record<string, string>>): Handbook {
  const files = Object.entries(texts).map(([source, text]) => sectionsOf(source, text))
  const sections = files.flat()
  const database = new DatabaseSync(':memory:')
  database.exec(
    `create virtual table sections using fts5(title, text, tokenize = 'porter unicode61')`,
  )
  const insert = database.prepare('insert into sections (rowid, title, text) values (?, ?, ?)')
  for (const [at, { title, text }] of sections.entries()) insert.run(at, title, text)
  // A match in a heading counts more than a match in the text (sqlite.org/fts5.html, section
  // 5.1.1).
  const search = database.prepare(
    'select rowid as at from sections where sections match ? order by bm25(sections, 5.0, 1.0), rowid limit ?',
  )
  return {
    contents: files.filter((one) => one.length > 0).map(contentsOf),
    find(question, most) {
      const words = wordsOf(question)
      if (words.length === 0) return []
      // The words are quoted, so that none is parsed as an operator. Sections with all of the words
      // precede sections with only some of them.
      const quoted = words.map((word) => `"${word}"`)
      const found = [' AND ', ' OR '].flatMap((operator) =>
        search.all(quoted.join(operator), most).map((row) => Number(row['at'])),
      )
      // The ranking prefers short parts, but a section is read from its beginning.
      const parts = Map.groupBy([...new Set(found)].slice(0, most), (at) => sections[at]?.title)
      const inOrder = [...parts.values()].flatMap((some) => some.toSorted((a, b) => a - b))
      return inOrder.map((at) => sections[at] as Section)
    },
  }
}

let builtIn: Handbook | null = null

/** Returns the handbook of this program, read at the first use. */
export const handbook = (): Handbook =>
  (builtIn ??= newHandbook(JSON.parse(asset('handbook.json').toString()) as Record<string, string>))

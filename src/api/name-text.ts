/** Formats other people's names for sentences and tables, with their source and marks. */
import type { NameMark } from '../crypto/encoding/display-names.ts'
import { oneLine } from '../crypto/encoding/quoted.ts'
import type { PersonName } from './rest/names.ts'
import type { Match } from './rest/verify.ts'

/** Quotation marks, and letters that look like them. */
const QUOTES =
  /["\u02ba\u05f4\u201c-\u201f\u2033\u2036\u275b-\u275e\u3003\u301d-\u301f\uff02\u{1f676}-\u{1f678}]/gu

/** The longest name in a sentence, in code points: that of a connection or a guest. */
const LONGEST = 200

/**
 * Returns a name in double quotes, as one line of limited length; double quotes inside it become
 * single quotes.
 *
 * Otherwise a name such as `x" ("y"), Mum` would end its quotation, and the rest of it would look
 * like a part of the sentence.
 */
export const inQuotes = (name: string): string => `"${withoutQuotes(name)}"`

/**
 * Returns a name as one line of limited length, with single quotes in place of double quotes, for
 * use outside quotation marks.
 */
const withoutQuotes = (name: string): string => oneLine(name, LONGEST).replace(QUOTES, "'")

/** Returns the beginning of a text as one line of at most 40 characters. */
export function brief(text: string): string {
  const characters = Array.from(text.replaceAll(/\s+/g, ' '))
  return characters.length <= 40 ? characters.join('') : `${characters.slice(0, 39).join('')}…`
}

const MARKS: Readonly<Record<NameMark, string>> = {
  equal: 'another contact has this name',
  mixed_script: 'letters of several alphabets',
}

/** Returns a text that contains a name, followed by the name's marks. */
const marked = (text: string, { name_marks }: Pick<PersonName, 'name_marks'>): string =>
  name_marks.length === 0 ? text : `${text} [${name_marks.map((one) => MARKS[one]).join('; ')}]`

/** Returns a name for a table: `Bob`, `calls itself "Bob"`, `the server says "Bob"`. */
export function calledOf(of: PersonName): string {
  const { display_name: name, name_source: source } = of
  if (source === 'self') return marked(`calls itself ${inQuotes(name)}`, of)
  if (source === 'server') return marked(`the server says ${inQuotes(name)}`, of)
  return marked(withoutQuotes(name), of)
}

/** Returns a name for a sentence: `Bob`, `an account that calls itself "Bob"`. */
export function someoneOf(of: PersonName): string {
  const { display_name: name, name_source: source } = of
  if (source === 'self') return marked(`an account that calls itself ${inQuotes(name)}`, of)
  if (source === 'server') return marked(`an account that the server calls ${inQuotes(name)}`, of)
  return marked(withoutQuotes(name), of)
}

/**
 * Returns the subject of a match for a sentence.
 *
 * The name that the user gave comes first. Examples: `guest "Mum" (Maria Muster)`, or
 * `"Bank" (Bob)` for a member of a connection. If both names are equal, there is only one.
 */
export function subjectOf(match: Match): string {
  const { kind, display_name, connection_name, external_member: external } = match
  if (kind === 'connection')
    return connection_name === undefined || connection_name === display_name
      ? someoneOf(match)
      : `${inQuotes(connection_name)} (${calledOf(match)})`
  const label = `guest ${marked(inQuotes(display_name), match)}`
  return external == null || external.display_name === display_name
    ? label
    : `${label} (${withoutQuotes(external.display_name)})`
}

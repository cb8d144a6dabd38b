/** Formats names of others for sentences and tables, with their source and marks. */
import { inQuotes, withoutQuotes } from './quotation-marks.ts'
import type { NameMark } from '../crypto/encoding/display-names.ts'
import type { PersonName } from './rest/names.ts'

const MARKS: Readonly<Record<NameMark, string>> = {
  equal: 'another contact has this name',
  mixed_script: 'letters of several alphabets',
}

/** Returns the text, followed by the marks of the name in it. */
export const marked = (text: string, { name_marks }: Pick<PersonName, 'name_marks'>): string =>
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

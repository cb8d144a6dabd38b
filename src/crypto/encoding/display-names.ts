/**
 * Marks display names that look like other names (section 4a).
 *
 * An account chooses its own name, so a name is marked if users could confuse it with another
 * contact's name. Names in one script that look like another script are not found. An example is a
 * Cyrillic name that has only letters with a Latin look-alike.
 */

/**
 * Why a name is marked.
 *
 * - `equal`: it equals another contact's name.
 * - `mixed_script`: it has letters of more than one of Latin, Greek and Cyrillic.
 */
export type NameMark = 'equal' | 'mixed_script'

// The expressions are inside functions, because V8 creates those with Unicode properties slowly,
// and a start needs none of them.
const scripts = () => [/\p{Script=Latin}/u, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u]

/** Removes combining marks, format characters, fillers, spaces and the empty Braille pattern. */
const withoutUnseen = (text: string) =>
  text.replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/gu, '')

/**
 * Returns the form in which names are compared.
 *
 * This is NFKD without combining marks (\p{M}) and invisible characters, in lower case
 * independently of the locale, with final sigma replaced by sigma.
 */
export const comparableName = (name: string): string =>
  withoutUnseen(name.normalize('NFKD')).toLowerCase().replaceAll('ς', 'σ')

/**
 * Returns the reasons to mark a contact's name; empty if the name is not marked.
 * @param others `comparableName` of every name, own or given, of the account's other contacts
 */
export function nameMarks(name: string, others: { has(comparable: string): boolean }): NameMark[] {
  const comparable = comparableName(name)
  const marks: NameMark[] = []
  if (others.has(comparable)) marks.push('equal')
  if (scripts().filter((script) => script.test(comparable)).length > 1) marks.push('mixed_script')
  return marks
}

/**
 * Display names that look like others (section 4a). A name is a claim of the account that has it,
 * so a name that could be taken for another contact's is marked. Look-alikes of a whole script
 * are not found, such as a Cyrillic name with only letters that look Latin.
 */

/**
 * `equal`: the same as another name; `mixed_script`: letters of more than one of Latin, Greek,
 * Cyrillic.
 */
export type NameMark = 'equal' | 'mixed_script'

const SCRIPTS = [/\p{Script=Latin}/u, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u]

/** Marks and invisible characters: format characters, fillers, spaces, the empty Braille cell. */
const UNSEEN = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/gu

/**
 * Returns the form in which names are compared. It is NFKD, without marks (\p{M}) and invisible
 * characters, in lower case without locale, with final sigma as sigma.
 */
export const comparableName = (name: string): string =>
  name.normalize('NFKD').replace(UNSEEN, '').toLowerCase().replaceAll('ς', 'σ')

/**
 * Returns why a contact's name is marked; empty if it is not.
 * @param others `comparableName` of each own or given name of the other contacts of the account
 */
export function nameMarks(name: string, others: { has(comparable: string): boolean }): NameMark[] {
  const comparable = comparableName(name)
  const marks: NameMark[] = []
  if (others.has(comparable)) marks.push('equal')
  if (SCRIPTS.filter((script) => script.test(comparable)).length > 1) marks.push('mixed_script')
  return marks
}

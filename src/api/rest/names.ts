/** A person's name, with its source and marks (protocol, section 4a). */
import * as v from 'valibot'
import { name } from '../fields.ts'

/** A name that a device signs: 1 to 64 characters, at least one of them visible. */
export const SignedName = v.pipe(
  name(128),
  v.check((text) => Array.from(text).length <= 64, 'Give at most 64 characters.'),
)

export const NameSource = v.pipe(
  v.picklist(['given', 'confirmed', 'self', 'server', 'own']),
  v.description(
    'The source of the name. given: you chose it. confirmed: the person chose it, and you confirmed their keys. self: only the person chose it, ' +
      'so show it as "calls itself …". server: only the account server says so; nothing is signed. own: it is your own name.',
  ),
)
export type NameSource = v.InferOutput<typeof NameSource>

const NameMark = v.pipe(
  v.picklist(['equal', 'mixed_script']),
  v.description(
    'equal: another contact of this account has a name that looks the same. mixed_script: the name has ' +
      'letters of more than one of the scripts Latin, Greek and Cyrillic.',
  ),
)

export const NameMarks = v.pipe(
  v.array(NameMark),
  v.description(
    'Why the name can be confused with another name; empty if nothing was found. Look-alike names ' +
      'written entirely in one other script are not found.',
  ),
)

/** The members for a name with its source and marks, for use in larger answers. */
export const namedEntries = {
  display_name: v.string(),
  name_source: NameSource,
  name_marks: NameMarks,
}

/** A person's name as a separate object. */
export const PersonName = v.object(namedEntries)
export type PersonName = v.InferOutput<typeof PersonName>

/** Returns a name as the account server states it, without marks. */
export const serverName = (display_name: string): PersonName => ({
  display_name,
  name_source: 'server',
  name_marks: [],
})

/** What an account without a name and without an address is called. */
const UNNAMED = 'Someone'

/** Returns the name of an account until its user chooses one: its address, if it has one. */
export const nameWithoutChoice = (email: string | null): string =>
  email === null ? UNNAMED : Array.from(email).slice(0, 64).join('')

/** Returns whether the user of an account has chosen its name. */
export const isNameChosen = (of: { display_name: string; email: string | null }): boolean =>
  of.display_name !== nameWithoutChoice(of.email)

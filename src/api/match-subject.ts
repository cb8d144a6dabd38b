import { marked, someoneOf } from './name-text.ts'
import { inQuotes, withoutQuotes } from './quotation-marks.ts'
import type { Match } from './rest/verify.ts'

/**
 * Returns the subject of a match for a sentence: `guest "Mum" (Maria Muster)`, or `Bob ("Bank")`
 * for a member of a connection. A name that repeats the label is omitted.
 */
export function subjectOf(match: Match): string {
  const { kind, display_name, connection_name, external_member: external } = match
  if (kind === 'connection') return `${someoneOf(match)} (${inQuotes(connection_name ?? '')})`
  const label = `guest ${marked(inQuotes(display_name), match)}`
  return external == null || external.display_name === display_name
    ? label
    : `${label} (${withoutQuotes(external.display_name)})`
}

import type { Identified } from './rest/verify.ts'

/**
 * The person behind a match, as a sentence names them: `guest "Mum" (Maria Muster)`, or
 * `Bob ("Bank")` for a member of a connection. A name that repeats the label is left out.
 */
export function subjectOf(match: Identified): string {
  const { kind, display_name, connection_name, external_member: external } = match
  if (kind === 'connection') return `${display_name} ("${connection_name}")`
  const label = `guest "${display_name}"`
  return external == null || external.display_name === display_name
    ? label
    : `${label} (${external.display_name})`
}

/** Escapes text in XML for the definitions of launchd and of the Task Scheduler. */
import { StartError } from '../../errors.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/**
 * Returns a text as character data.
 * @throws StartError for a text that XML 1.0 (section 2.2) cannot contain
 */
export function escaped(text: string): string {
  if (/[\p{Cc}\ufffe\uffff]/u.test(text) || !text.isWellFormed())
    throw new StartError(
      'failed',
      `${JSON.stringify(text)} contains a character that XML does not allow. Move the program elsewhere.`,
    )
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
}

/** Returns the text of character data; null for a reference that `escaped` never writes. */
export function unescaped(data: string): string | null {
  const known = Object.entries(ENTITIES)
  const isKnown = (data.match(/&[^&;]*;?/g) ?? []).every((reference) =>
    known.some(([, entity]) => entity === reference),
  )
  if (!isKnown) return null
  return data.replace(
    /&\w+;/g,
    (reference) => known.find(([, entity]) => entity === reference)?.[0] ?? reference,
  )
}

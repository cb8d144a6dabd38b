/** Escapes text for XML, for the definitions of launchd and the Task Scheduler. */
import { StartError } from '../../errors.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/**
 * Returns a text as XML character data.
 * @throws StartError if XML 1.0 cannot contain the text (section 2.2)
 */
export function escaped(text: string): string {
  if (/[\p{Cc}\ufffe\uffff]/u.test(text) || !text.isWellFormed())
    throw new StartError(
      'failed',
      `${JSON.stringify(text)} contains a character that XML does not allow. Move the program elsewhere.`,
    )
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
}

/**
 * Returns the text of XML character data; null if it has a reference that `escaped` never writes.
 */
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

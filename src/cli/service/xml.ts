/** Text inside XML, as the definitions of launchd and of the Task Scheduler hold it. */
import { StartError } from '../../errors.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** A text as character data. Throws StartError for one that XML 1.0 (section 2.2) cannot hold. */
export function escaped(text: string): string {
  if (/[\p{Cc}\ufffe\uffff]/u.test(text) || !text.isWellFormed())
    throw new StartError('failed', `${JSON.stringify(text)} has a character that XML cannot hold.`)
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
}

/** The text that character data stands for; null for a reference that `escaped` never writes. */
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

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

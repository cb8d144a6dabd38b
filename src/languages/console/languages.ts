/**
 * The languages of the console. A new language needs a folder with the groups of `en/` and a line
 * here. The page loads only the messages of one language.
 */
import type { ConsoleMessages } from './translation.ts'

interface ConsoleLanguageEntry {
  /** The language tag (RFC 5646). */
  readonly tag: string
  /** The language tag for dates and numbers, if the browser asks for no variant. */
  readonly locale: string
  readonly load: () => Promise<ConsoleMessages>
}

/** All languages of the console. English is the first. */
export const CONSOLE_LANGUAGES: readonly [ConsoleLanguageEntry, ...ConsoleLanguageEntry[]] = [
  {
    tag: 'en',
    locale: 'en-GB',
    load: async () => (await import('./en/index.ts')).default as unknown as ConsoleMessages,
  },
  { tag: 'de', locale: 'de-DE', load: async () => (await import('./de/index.ts')).default },
]

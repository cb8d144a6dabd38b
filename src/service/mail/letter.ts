/** Makes letters from the messages of their reader's language. */
import { type Language, messageText, type ReaderPreferences } from '../../languages/languages.ts'
import type { Template } from '../../languages/message.ts'
import type { OutgoingLetter } from './mailer.ts'
import { addressText, hostOf, quoted } from './quoting.ts'

/** The recipient of a letter, and the server that sends it. */
export interface LetterAddress {
  readonly to: string
  readonly reader: ReaderPreferences
  readonly publicUrl: string
}

/** Returns a letter. The values must be quoted if other people wrote them. */
export const letter = <Names extends string>(
  { to, reader: { language }, publicUrl }: LetterAddress,
  messages: { readonly subject: Template<'host'>; readonly text: Template<Names | 'server'> },
  values: { readonly [N in Exclude<Names, 'server'>]: string },
): OutgoingLetter => ({
  to,
  language: language.tag,
  subject: messageText(language, messages.subject, { host: hostOf(publicUrl) }),
  text: messageText(language, messages.text, { ...values, server: publicUrl } as {
    readonly [N in Names | 'server']: string
  }),
})

/** Returns a number with its unit. */
export const countText = (
  language: Language,
  unit: 'minutes' | 'hours' | 'days' | 'times' | 'requests',
  count: number,
): string => messageText(language, language.messages.letters[unit], { count })

/** Returns a person's name, and the address in the next line if there is one. */
export const personText = (language: Language, name: string, address: string | null): string =>
  address === null
    ? quoted(name, language)
    : `${quoted(name, language)}\n    ${addressText(address, language)}`

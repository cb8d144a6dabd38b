/**
 * The messages of a page's script. The server puts them into the document, in the language of the
 * page, so the script contains no messages.
 */
import { partsOf, type Template } from '../languages/message.ts'

const main = (): HTMLElement => document.querySelector('main')!

/** Returns the language tag for dates and numbers. */
export const pageLocale = (): string => main().dataset['locale']!

/** Returns the messages in the document. */
export const readMessages = <M>(): M => JSON.parse(main().dataset['messages']!) as M

/** Returns a message as texts and elements, for `append` and `replaceChildren`. */
export const messageNodes = <Names extends string>(
  template: Template<Names>,
  values: { readonly [N in Names]: string | number | Node },
): (string | Node)[] => partsOf(template, values, pageLocale())

/** Returns a message with values that are texts. */
export const messageString = <Names extends string>(
  template: Template<Names>,
  values: { readonly [N in Names]: string | number },
): string => partsOf(template, values, pageLocale()).join('')

/**
 * HTML as text with one rule: what is put into a template is escaped, unless a template made it.
 * There is no way around it for a string.
 */

/** HTML that a template made. The private member keeps other objects from passing for it. */
export class Html {
  readonly #text: string

  constructor(parts: readonly string[], values: readonly Value[]) {
    this.#text = parts
      .map((part, i) => part + (i < values.length ? render(values[i]!) : ''))
      .join('')
  }

  toString(): string {
    return this.#text
  }
}

type Value = string | number | Html | readonly Html[]

/** The tag of every template: strings and numbers in it are escaped, `Html` and lists of it are not. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html =>
  new Html(parts, values)

const ENTITY: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text in, the same text for an element's content or a quoted attribute. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITY[character]!)
}

function render(value: Value): string {
  if (value instanceof Html) return value.toString()
  return typeof value === 'object' ? value.map(String).join('\n') : escape(String(value))
}

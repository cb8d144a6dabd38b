/**
 * HTML templates with one rule: values in a template are escaped, unless a template made them. No
 * string is exempt.
 */

/** HTML made by a template. The private member prevents other objects from having this type. */
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

/** The tag of every template: it escapes strings and numbers, but not `Html` and lists of it. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html =>
  new Html(parts, values)

const ENTITY: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns a text escaped for an element's content or a quoted attribute. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITY[character]!)
}

function render(value: Value): string {
  if (value instanceof Html) return value.toString()
  return typeof value === 'object' ? value.map(String).join('\n') : escape(String(value))
}

/**
 * Access to the elements that scripts fill in a page made by the server. Text is only inserted as
 * text, never as HTML.
 */
import { displayedName } from '../crypto/encoding/quoted.ts'

/**
 * Returns the element with this id.
 * @throws TypeError if there is no such element, or if it is of another kind
 */
export function element<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new TypeError(`the page has no #${id}`)
  return found
}

/** Returns a new element that contains these texts and elements. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...content: (string | Node)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag)
  if (className !== '') made.className = className
  made.append(...content)
  return made
}

/** Returns a name as an element that is isolated from the direction of the text around it. */
export const nameElement = (name: string): HTMLElement => make('bdi', '', displayedName(name))

/**
 * Replaces the content of an element. `kind` selects its colour in the style sheet. An element
 * without content takes no space but stays in the document, because screen readers announce a
 * change only in an element that existed before.
 */
export function say(where: HTMLElement, kind: string, ...content: (string | Node)[]): void {
  where.dataset['kind'] = kind
  where.replaceChildren(...content)
}

/**
 * Access to the elements that scripts fill in a page made by the server. Text is only inserted as
 * text, never as HTML.
 */

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

/**
 * Puts `text` into an element. `kind` selects its colour in the style sheet. An element with an
 * empty text takes no space but stays in the document, because screen readers announce a change
 * only in an element that existed before.
 */
export function say(where: HTMLElement, kind: string, text: string): void {
  where.dataset['kind'] = kind
  where.textContent = text
}

/**
 * Access to the elements of the server's document that a script fills. Text is inserted as text
 * only.
 */

/**
 * Returns the element with this id.
 * @throws TypeError if the document has none, or it is of another kind
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
 * Puts `text` into an element of a kind that the style sheet colours. An empty element takes no
 * space and stays in the tree, since screen readers announce a change only in an element that was
 * there before.
 */
export function say(where: HTMLElement, kind: string, text: string): void {
  where.dataset['kind'] = kind
  where.textContent = text
}

/** The elements that the server's document gives a script to fill; text goes in as text only. */

/** The element with this id. Throws where the document has none or it is of another kind. */
export function element<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new TypeError(`the page has no #${id}`)
  return found
}

/** A new element with these texts and elements in it. */
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
 * Puts `text` into an element of a kind that the style sheet colours. An empty one takes no room
 * and stays in the tree: screen readers announce a change only where they knew the place before.
 */
export function say(where: HTMLElement, kind: string, text: string): void {
  where.dataset['kind'] = kind
  where.textContent = text
}

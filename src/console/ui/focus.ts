/** Returns the focus to an element if the element that had it was removed. */
export function keepFocus(at: HTMLElement | null): void {
  // After the document has changed.
  requestAnimationFrame(() => {
    if (document.activeElement === null || document.activeElement === document.body) at?.focus()
  })
}

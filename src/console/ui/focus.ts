/** The focus after a change of the page. */
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** What can get the focus in place of a removed element: it, or the heading in it. */
const PARTS = 'section, article, dialog, main'

/** Moves the focus to a part of the page: to its heading, so that a screen reader names it. */
function focusPart(part: HTMLElement): void {
  const target = part.querySelector<HTMLElement>('h1, h2, h3') ?? part
  if (!target.hasAttribute('tabindex')) target.tabIndex = -1
  target.focus()
}

/**
 * Keeps the focus in the page from now on.
 *
 * If the element that has the focus is removed, the part of the page around it gets the focus.
 * Otherwise the keyboard would begin at the top again.
 */
export function keepFocusInPage(root: HTMLElement): void {
  /** The element that had the focus last, and the elements around it. */
  let path: readonly Element[] = []
  const isLost = () =>
    path[0]?.isConnected === false &&
    (document.activeElement === null || document.activeElement === document.body)
  const restore = () => {
    const part = isLost() && path.find((one) => one.isConnected && one.matches(PARTS))
    if (part instanceof HTMLElement) focusPart(part)
  }
  root.addEventListener('focusin', (event) => {
    path = event.composedPath().filter((one) => one instanceof Element)
  })
  const changes = new MutationObserver(() => {
    if (!isLost()) return
    // The effects of components run after the next frame, and may move the focus themselves.
    requestAnimationFrame(() => setTimeout(restore))
  })
  changes.observe(root, { childList: true, subtree: true })
}

/** Returns a reference to a result, which gets the focus if it replaces the element that had it. */
export function useResultFocus(): RefObject<HTMLDivElement | null> {
  const result = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { activeElement: active } = document
    if (active === null || active === document.body) result.current?.focus()
  }, [])
  return result
}

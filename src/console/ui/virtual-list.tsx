/** A long list of rows of equal height, of which only the visible ones are in the document. */
import { useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** How many rows before and after the visible ones are in the document. */
const AROUND = 8

/** Returns the index of the row with the focus; -1 if it is in no row. */
function focusedIndex(list: HTMLElement | null): number {
  const row = document.activeElement?.closest<HTMLElement>('li[data-at]')
  return row !== null && row !== undefined && row.parentElement === list
    ? Number(row.dataset['at'])
    : -1
}

/** How far these keys move the focus, in rows; a page has `page` rows. */
const stepOf = (key: string, page: number): number | undefined =>
  ({
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -Infinity,
    End: Infinity,
  })[key]

/**
 * Shows the rows of a list near the visible part of the window. The arrow keys, Page Up and Down,
 * Home and End move the focus between the first links of the rows.
 * @param of `rowHeight`: in rem; `label`: the name of the list
 */
export const VirtualList = <T,>(of: {
  readonly items: readonly T[]
  readonly rowHeight: number
  readonly label: string
  readonly keyOf: (item: T) => string
  readonly row: (item: T) => ComponentChild
}) => {
  const { items, rowHeight } = of
  const list = useRef<HTMLUListElement>(null)
  const visible = useSignal({ from: 0, to: 40 })
  /** The row that keeps the focus while it is not visible. */
  const focused = useSignal(-1)
  /** The row that gets the focus when it is in the document. */
  const wanted = useRef(-1)

  const pixels = () => rowHeight * parseFloat(getComputedStyle(document.documentElement).fontSize)

  useEffect(() => {
    const measure = () => {
      const height = pixels()
      const top = list.current?.getBoundingClientRect().top ?? 0
      const first = Math.floor(Math.max(0, -top) / height)
      const from = Math.max(0, first - AROUND)
      const to = first + Math.ceil(innerHeight / height) + AROUND
      if (visible.value.from !== from || visible.value.to !== to) visible.value = { from, to }
    }
    measure()
    addEventListener('scroll', measure, { passive: true })
    addEventListener('resize', measure, { passive: true })
    return () => {
      removeEventListener('scroll', measure)
      removeEventListener('resize', measure)
    }
  }, [rowHeight, items])

  useEffect(() => {
    if (wanted.current < 0) return
    const link = list.current?.querySelector<HTMLElement>(`li[data-at="${wanted.current}"] a`)
    if (link === null || link === undefined) return
    wanted.current = -1
    link.focus()
    link.scrollIntoView({ block: 'nearest' })
  })

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const page = Math.max(1, Math.floor(innerHeight / pixels()) - 2)
    const step = stepOf(event.key, page)
    const at = focusedIndex(list.current)
    if (step === undefined || at < 0) return
    event.preventDefault()
    wanted.current = Math.min(Math.max(at + step, 0), items.length - 1)
    focused.value = wanted.current
    // The row is in the document already if it is near the visible ones.
    const row = list.current?.querySelector<HTMLElement>(`li[data-at="${focused.value}"] a`)
    if (row !== null && row !== undefined) {
      wanted.current = -1
      row.focus()
    }
  }

  const from = Math.min(visible.value.from, Math.max(0, items.length - 1))
  const to = Math.min(visible.value.to, items.length)
  const indexes = Array.from({ length: to - from }, (_, i) => from + i)
  const apart = focused.value
  if (apart >= 0 && apart < items.length && (apart < from || apart >= to))
    if (apart < from) indexes.unshift(apart)
    else indexes.push(apart)
  return (
    <ul
      ref={list}
      class="rows virtual"
      aria-label={of.label}
      style={{ height: `${items.length * rowHeight}rem` }}
      onKeyDown={onKeyDown}
      onFocusIn={() => {
        focused.value = focusedIndex(list.current)
      }}
      onFocusOut={() => {
        focused.value = -1
      }}
    >
      {indexes.map((at) => (
        <li
          key={of.keyOf(items[at]!)}
          data-at={at}
          style={{ top: `${at * rowHeight}rem`, height: `${rowHeight}rem` }}
          aria-setsize={items.length}
          aria-posinset={at + 1}
        >
          {of.row(items[at]!)}
        </li>
      ))}
    </ul>
  )
}

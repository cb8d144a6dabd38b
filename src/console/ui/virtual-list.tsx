/** A long list of rows of equal height, of which only the visible ones are in the document. */
import { useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** How many rows before and after the visible ones are in the document. */
const AROUND = 8

/**
 * Shows the rows of a list near the visible part of the window.
 * @param of `rowHeight`: in CSS pixels; `label`: the name of the list
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
  useEffect(() => {
    const measure = () => {
      const top = list.current?.getBoundingClientRect().top ?? 0
      const first = Math.floor(Math.max(0, -top) / rowHeight)
      const from = Math.max(0, first - AROUND)
      const to = first + Math.ceil(innerHeight / rowHeight) + AROUND
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
  const from = Math.min(visible.value.from, Math.max(0, items.length - 1))
  const shown = items.slice(from, visible.value.to)
  return (
    <ul
      ref={list}
      class="rows"
      aria-label={of.label}
      style={{
        paddingTop: `${from * rowHeight}px`,
        paddingBottom: `${Math.max(0, items.length - from - shown.length) * rowHeight}px`,
      }}
    >
      {shown.map((item, at) => (
        <li
          key={of.keyOf(item)}
          style={{ height: `${rowHeight}px` }}
          aria-setsize={items.length}
          aria-posinset={from + at + 1}
        >
          {of.row(item)}
        </li>
      ))}
    </ul>
  )
}

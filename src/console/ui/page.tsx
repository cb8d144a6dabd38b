/** The frame of a page: its title, what is shown while data is missing, and the age of the data. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { thisMinute } from '../data/clock.ts'
import type { Resource } from '../data/resource.ts'
import { needsCount } from '../shell/needs-count.ts'
import { messages, filled, timeShort } from '../text/text.tsx'
import { FailureNotice } from './failure.tsx'

/** The title of the page that is shown, which the browser shows too. */
export const PageFrame = (of: {
  readonly title: string
  readonly lead?: ComponentChildren
  /** The page to which this one belongs. */
  readonly back?: { readonly href: string; readonly text: string }
  /** Buttons and links beside the title. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // A screen reader continues at the new page, unless the page has set the focus itself.
    const { activeElement: active } = document
    if (active === null || active === document.body || active.matches('main, nav *'))
      heading.current?.focus()
  }, [])
  const count = needsCount.value
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${of.title} – Countersign`
  }, [of.title, count])
  return (
    <>
      {of.back === undefined ? null : (
        <a class="back" href={of.back.href}>
          {of.back.text}
        </a>
      )}
      <header class="head">
        <h1 ref={heading} tabIndex={-1}>
          {of.title}
        </h1>
        {of.actions === undefined ? null : <div class="answers">{of.actions}</div>}
      </header>
      {of.lead === undefined ? null : <p class="lead">{of.lead}</p>}
      {of.children}
    </>
  )
}

/** Shows data once it was read, why it could not be read, and how old a copy is. */
export const Loaded = <T,>(of: {
  readonly from: Resource<T>
  readonly children: (data: T) => ComponentChildren
}) => {
  const { common, frame } = messages()
  const data = of.from.data.value
  const asOf = (data as { as_of?: string } | undefined)?.as_of
  return (
    <>
      <FailureNotice of={of.from.failure} />
      {asOf === undefined ? null : (
        <p class="as-of">{filled(common.asOf, { time: timeShort(asOf, thisMinute.value) })}</p>
      )}
      {data !== undefined
        ? of.children(data)
        : of.from.failure.value === null && <p role="status">{frame.loading}</p>}
    </>
  )
}

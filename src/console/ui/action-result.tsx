import type { ReadonlySignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { NoticeBox } from './notice.tsx'

/** The result of the last action. It gets the focus, because what the action removed had it. */
export const ActionResult = ({ of }: { readonly of: ReadonlySignal<ComponentChildren> }) => {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (of.value !== null) box.current?.focus()
  }, [of.value])
  return (
    <div ref={box} tabIndex={-1} class="action-result">
      {of.value === null ? null : <NoticeBox kind="ok">{of.value}</NoticeBox>}
    </div>
  )
}

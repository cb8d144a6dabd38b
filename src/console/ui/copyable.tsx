import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useAction } from '../data/action.ts'
import { messages } from '../text/text.tsx'

/**
 * Shows a value with a button that copies it.
 * @param of `label`: what is copied, for screen readers; `children`: the value as shown
 */
export const Copyable = (of: {
  readonly value: string
  readonly label: string
  readonly children?: ComponentChildren
}) => {
  const { common } = messages()
  const copied = useSignal<string | null>(null)
  // A browser may refuse to copy.
  const copy = useAction(async () => {
    await navigator.clipboard.writeText(of.value)
    copied.value = of.value
  })
  return (
    <span class="copyable">
      {of.children ?? <bdi>{of.value}</bdi>}
      <button type="button" class="small" onClick={() => void copy.run()}>
        {copied.value === of.value ? common.copied : common.copy}
        <span class="unseen"> {of.label}</span>
      </button>
      {copy.failure.value === null ? null : <span role="alert">{common.notCopied}</span>}
    </span>
  )
}

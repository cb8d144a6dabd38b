import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
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
  const isCopied = useSignal(false)
  const copy = async () => {
    await navigator.clipboard.writeText(of.value)
    isCopied.value = true
  }
  return (
    <span class="copyable">
      {of.children ?? <bdi>{of.value}</bdi>}
      <button type="button" class="small" onClick={() => void copy()}>
        {isCopied.value ? common.copied : common.copy}
        <span class="unseen"> {of.label}</span>
      </button>
    </span>
  )
}

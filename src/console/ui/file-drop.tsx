/** A place to drop files, or to choose them. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId } from 'preact/hooks'

const prevent = (event: Event) => event.preventDefault()

/**
 * A box for files. The whole box is the label of a file input, so that it works by keyboard too.
 * @param of `label`: what to drop; `children`: what was chosen; `onFiles`: called with the files
 */
export const FileDrop = (of: {
  readonly label: string
  /** The text of the button that opens the dialog of the browser. */
  readonly choose: string
  readonly hint?: string
  readonly isMultiple?: boolean
  readonly onFiles: (files: readonly File[]) => void
  readonly children?: ComponentChildren
}) => {
  const id = useId()
  const isOver = useSignal(false)
  useEffect(() => {
    // The browser would leave the page for a file that was dropped beside the box.
    for (const type of ['dragover', 'drop']) document.addEventListener(type, prevent)
    return () => {
      for (const type of ['dragover', 'drop']) document.removeEventListener(type, prevent)
    }
  }, [])
  const take = (files: FileList | null | undefined) => {
    if (files != null && files.length > 0) of.onFiles([...files])
  }
  return (
    <label
      class="drop"
      data-over={isOver.value ? '' : undefined}
      onDragOver={() => {
        isOver.value = true
      }}
      onDragLeave={() => {
        isOver.value = false
      }}
      onDrop={(event) => {
        isOver.value = false
        take(event.dataTransfer?.files)
      }}
    >
      <span class="drop-label">{of.label}</span>
      <span class="button small" aria-hidden>
        {of.choose}
      </span>
      <input
        class="unseen"
        type="file"
        multiple={of.isMultiple}
        aria-describedby={of.hint === undefined ? undefined : id}
        onChange={(event) => {
          take(event.currentTarget.files)
          // Cleared, so that choosing the same file again is a change too.
          event.currentTarget.value = ''
        }}
      />
      {of.hint === undefined ? null : (
        <span class="hint" id={id}>
          {of.hint}
        </span>
      )}
      {of.children}
    </label>
  )
}

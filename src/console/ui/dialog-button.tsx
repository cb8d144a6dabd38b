import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Dialog } from './dialog.tsx'

/**
 * A button that opens a dialog.
 * @param of `title`: of the dialog; `children`: its content, which may close it
 */
export const DialogButton = (of: {
  readonly label: ComponentChildren
  readonly kind?: 'main' | 'small'
  readonly title: string
  readonly children: (close: () => void) => ComponentChildren
}) => {
  const isOpen = useSignal(false)
  const close = () => {
    isOpen.value = false
  }
  return (
    <>
      <button
        type="button"
        class={of.kind}
        onClick={() => {
          isOpen.value = true
        }}
      >
        {of.label}
      </button>
      {isOpen.value ? (
        <Dialog title={of.title} onClose={close}>
          {of.children(close)}
        </Dialog>
      ) : null}
    </>
  )
}

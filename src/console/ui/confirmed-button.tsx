import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { ConfirmDialog } from './dialog.tsx'

/**
 * A button for an action that cannot be undone: it opens a dialog with the consequences.
 * @param of `title`: of the dialog; `confirm`: the text of the button that does it; `children`: the
 *   consequences
 */
export const ConfirmedButton = (of: {
  readonly label: ComponentChildren
  readonly kind?: 'danger' | 'small'
  readonly title: string
  readonly confirm: string
  readonly work: () => Promise<unknown>
  readonly children: ComponentChildren
}) => {
  const isOpen = useSignal(false)
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
        <ConfirmDialog
          title={of.title}
          confirm={of.confirm}
          danger
          work={of.work}
          onClose={() => {
            isOpen.value = false
          }}
        >
          <p>{of.children}</p>
        </ConfirmDialog>
      ) : null}
    </>
  )
}

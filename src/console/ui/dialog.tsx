/** Dialogs: the browser keeps the focus inside, and Escape closes them. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { useAction } from '../data/action.ts'
import { messages } from '../text/text.tsx'
import { ActionButton } from './button.tsx'
import { FailureNotice } from './failure.tsx'

/** A dialog that is open while it is rendered. */
export const Dialog = (of: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Before the next key of the user: otherwise it would reach the element behind the dialog.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    // A closed dialog returns the focus. While it is open, nothing behind it can have the focus.
    return () => {
      element?.close()
    }
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={of.onClose}>
      <h2 id={id}>{of.title}</h2>
      {of.children}
    </dialog>
  )
}

/** A dialog that asks before an action, with its consequences as children. */
export const ConfirmDialog = (of: {
  readonly title: string
  /** The text of the button that does it, such as "Remove Anna". */
  readonly confirm: string
  readonly danger?: boolean
  readonly disabled?: boolean
  readonly work: () => Promise<unknown>
  /** Called after success, and after a cancellation. */
  readonly onClose: () => void
  readonly children?: ComponentChildren
}) => {
  const action = useAction(of.work)
  const confirm = {
    isRunning: action.isRunning,
    run: async () => {
      const isDone = await action.run()
      if (isDone) of.onClose()
      return isDone
    },
  }
  return (
    <Dialog title={of.title} onClose={of.onClose}>
      {of.children}
      <FailureNotice of={action.failure} />
      <div class="answers">
        <ActionButton
          action={confirm}
          kind={of.danger === true ? 'danger' : 'main'}
          disabled={of.disabled === true}
        >
          {of.confirm}
        </ActionButton>
        {/* A dialog gives its focus to this attribute; otherwise Enter twice would delete. */}
        <button type="button" autofocus={of.danger === true} onClick={of.onClose}>
          {messages().common.cancel}
        </button>
      </div>
    </Dialog>
  )
}

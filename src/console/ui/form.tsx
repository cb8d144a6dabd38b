/** Forms: the button, the result and the error of one action. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Action } from '../data/action.ts'
import { messages } from '../text/text.tsx'
import { SubmitButton } from './button.tsx'
import { FailureNotice } from './failure.tsx'

/** A form that runs an action when it is sent. */
export const ActionForm = (of: {
  readonly action: Action<[]>
  /** The text of the button. */
  readonly submit: string
  /** The message after success. */
  readonly done?: ComponentChildren
  readonly disabled?: boolean
  /** Adds a button that cancels. */
  readonly onCancel?: () => void
  readonly children: ComponentChildren
}) => {
  const isDone = useSignal(false)
  const send = async () => {
    isDone.value = false
    isDone.value = await of.action.run()
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
      onInput={() => {
        isDone.value = false
      }}
    >
      {of.children}
      <FailureNotice of={of.action.failure} />
      <div class="answers">
        <SubmitButton action={of.action} disabled={of.disabled === true}>
          {of.submit}
        </SubmitButton>
        {of.onCancel === undefined ? null : (
          <button type="button" onClick={of.onCancel}>
            {messages().common.cancel}
          </button>
        )}
        <span role="status" class="done">
          {isDone.value ? of.done : null}
        </span>
      </div>
    </form>
  )
}

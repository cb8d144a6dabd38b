/** Buttons. */
import type { ComponentChildren } from 'preact'
import type { Action } from '../data/action.ts'
import { messages } from '../text/text.tsx'
import { AboutName } from './about.tsx'

/** A button that starts an action, and shows that it runs. */
export const ActionButton = (of: {
  readonly action: Pick<Action<[]>, 'isRunning' | 'run'>
  readonly kind?: 'main' | 'danger' | 'small'
  readonly disabled?: boolean
  /** The name of what the button is about, for screen readers. */
  readonly about?: string
  readonly children: ComponentChildren
}) => (
  <button
    type="button"
    class={of.kind}
    disabled={of.disabled}
    aria-busy={of.action.isRunning.value}
    onClick={() => void of.action.run()}
  >
    {of.action.isRunning.value ? (
      messages().common.running
    ) : (
      <>
        {of.children}
        {of.about === undefined ? null : <AboutName of={of.about} />}
      </>
    )}
  </button>
)

/** The button that sends a form. */
export const SubmitButton = (of: {
  readonly action: Pick<Action<never>, 'isRunning'>
  readonly disabled?: boolean
  readonly children: ComponentChildren
}) => (
  <button type="submit" class="main" disabled={of.disabled} aria-busy={of.action.isRunning.value}>
    {of.action.isRunning.value ? messages().common.running : of.children}
  </button>
)

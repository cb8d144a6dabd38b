import type { ComponentChildren } from 'preact'
import { ConfirmDialog } from './dialog.tsx'
import { OpenerButton, type OpenerLook } from './opener-button.tsx'

/**
 * A button for an action with consequences: it opens a dialog that explains them.
 * @param of `title`: of the dialog; `confirm`: the text of the button that does it; `isHarmless`:
 *   whether the action can be undone; `children`: the consequences
 */
export const ConfirmedButton = (
  of: OpenerLook & {
    readonly title: string
    readonly confirm: string
    readonly isHarmless?: boolean
    readonly work: () => Promise<unknown>
    readonly children: ComponentChildren
  },
) => (
  <OpenerButton {...of}>
    {(close) => (
      <ConfirmDialog
        title={of.title}
        confirm={of.confirm}
        danger={of.isHarmless !== true}
        work={of.work}
        onClose={close}
      >
        <p>{of.children}</p>
      </ConfirmDialog>
    )}
  </OpenerButton>
)

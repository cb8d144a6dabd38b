import type { ComponentChildren } from 'preact'
import { Dialog } from './dialog.tsx'
import { OpenerButton, type OpenerLook } from './opener-button.tsx'

/**
 * A button that opens a dialog with any content.
 * @param of `title`: of the dialog; `children`: its content, which may close it
 */
export const DialogButton = (
  of: OpenerLook & {
    readonly title: string
    readonly children: (close: () => void) => ComponentChildren
  },
) => (
  <OpenerButton {...of}>
    {(close) => (
      <Dialog title={of.title} onClose={close}>
        {of.children(close)}
      </Dialog>
    )}
  </OpenerButton>
)

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { AboutName } from './about.tsx'

/** The look of a button that opens a dialog. */
export interface OpenerLook {
  readonly label: ComponentChildren
  /** The name of what the button is about, for screen readers. */
  readonly about?: string
  readonly kind?: 'main' | 'danger' | 'small'
}

/** A button that opens a dialog. @param of `children`: the dialog, which is given how it closes */
export const OpenerButton = (
  of: OpenerLook & { readonly children: (close: () => void) => ComponentChildren },
) => {
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
        {of.about === undefined ? null : <AboutName of={of.about} />}
      </button>
      {isOpen.value
        ? of.children(() => {
            isOpen.value = false
          })
        : null}
    </>
  )
}

/** The choice whether new needs show notifications on the desktop. */
import { useAction } from '../../data/action.ts'
import { askForDesktopPermission, desktopPermission } from '../../shell/desktop-notices.ts'
import { messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'

export const DesktopPermission = () => {
  const texts = messages().needs
  const asking = useAction(askForDesktopPermission)
  const state = desktopPermission.value
  return (
    <section class="card prose">
      <h2>{texts.desktop}</h2>
      <p role="status">
        {
          { default: texts.desktopText, granted: texts.desktopOn, denied: texts.desktopDenied }[
            state
          ]
        }
      </p>
      {state === 'default' ? <ActionButton action={asking}>{texts.allow}</ActionButton> : null}
    </section>
  )
}

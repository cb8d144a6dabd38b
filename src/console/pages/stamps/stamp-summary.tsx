/** A stamp to hand over: its link, as a text and a QR code, and its file. */
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { CommandText } from '../../ui/command.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { QrPicture } from '../../ui/qr-picture.tsx'
import { saveStampFile } from './stamp-file.ts'

type Shown = Pick<Schemas['ListedStamp'], 'id' | 'verification_url' | 'reachable'>

/**
 * Shows how to hand over a stamp.
 * @param of `isWaiting`: whether there is no receipt yet; `fileName`: without `.stamp`
 */
export const StampSummary = (of: {
  readonly stamp: Shown
  readonly isWaiting: boolean
  readonly fileName: string
}) => {
  const { stamps } = messages()
  const { id, verification_url: link, reachable } = of.stamp
  const save = useAction(async () =>
    saveStampFile(
      await dataOf(api.GET('/api/v1/stamps/{id}', { params: { path: { id } } })),
      of.fileName,
    ),
  )
  return (
    <div class="stamp-summary">
      <QrPicture of={link} alt={stamps.qr} />
      <div>
        <h3>{stamps.link}</h3>
        <p>
          <Copyable label={stamps.copyLink} value={link}>
            <code class="long" translate={false}>
              {link}
            </code>
          </Copyable>
        </p>
        {of.isWaiting ? (
          <p class="notice" data-kind="warn">
            {stamps.waiting}
          </p>
        ) : null}
        {reachable === 'this_machine' ? (
          <p class="notice" data-kind="warn">
            {stamps.onlyHere} <CommandText of="countersignd publish" />
          </p>
        ) : null}
        <ActionButton action={save}>{stamps.saveFile}</ActionButton>
        <FailureNotice of={save.failure} />
      </div>
    </div>
  )
}

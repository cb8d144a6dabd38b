/** The form that stamps a file or a text. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { showableFileName } from '../../data/content.ts'
import { messages } from '../../text/text.tsx'
import { TextField } from '../../ui/fields.tsx'
import { useResultFocus } from '../../ui/focus.ts'
import { ActionForm } from '../../ui/form.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { hasScope, RightsNotice } from '../../ui/rights-notice.tsx'
import { ContentField, hashOfChosen, hasContent, useContent } from './content-field.tsx'
import { StampSummary } from './stamp-summary.tsx'

interface MadeStamp {
  readonly stamp: Schemas['Stamp']
  readonly fileName: string
}

const MadeNotice = (of: { readonly made: MadeStamp; readonly onAnother: () => void }) => {
  const { stamps } = messages()
  const { stamp, fileName } = of.made
  const box = useResultFocus()
  return (
    <div ref={box} tabIndex={-1}>
      <NoticeBox kind="ok">
        {stamps.made} {stamps.madeNext}
      </NoticeBox>
      <StampSummary stamp={stamp} isWaiting={stamp.receipt === null} fileName={fileName} />
      <p>
        <button type="button" onClick={of.onAnother}>
          {stamps.another}
        </button>
      </p>
    </div>
  )
}

/** Stamps a file or a text, and shows the stamp. */
export const StampForm = () => {
  const { stamps } = messages()
  const content = useContent()
  const context = useSignal('')
  const made = useSignal<MadeStamp | null>(null)
  const action = useAction(async () => {
    const { name, mediaType: media_type, sha256 } = await hashOfChosen(content)
    const body = { sha256, media_type, context: context.value.trim() || null }
    const stamp = await dataOf(api.POST('/api/v1/stamp', { body }))
    made.value = { stamp, fileName: name ?? stamp.words.replaceAll(' ', '-') }
  })
  const clear = () => {
    made.value = null
    content.file.value = null
    content.text.value = ''
    context.value = ''
  }
  return (
    <section class="card" aria-labelledby="stamp-form">
      <h2 id="stamp-form">{stamps.sign}</h2>
      {made.value !== null ? (
        <MadeNotice made={made.value} onAnother={clear} />
      ) : (
        <ActionForm
          action={action}
          submit={stamps.signIt}
          disabled={!hasContent(content) || !hasScope('write')}
        >
          <RightsNotice needs="write" />
          <ContentField
            content={content}
            label={stamps.dropToSign}
            toText={stamps.orText}
            toFile={stamps.orFile}
            onFiles={async ([file]) => {
              context.value = showableFileName(file!.name)
              return file!
            }}
          />
          <TextField
            label={stamps.context}
            hint={stamps.contextHint}
            value={context}
            maxLength={500}
          />
        </ActionForm>
      )}
    </section>
  )
}

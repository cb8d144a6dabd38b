/** The form that checks a stamp against the content that the user has. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { TextField } from '../../ui/fields.tsx'
import { FileDrop } from '../../ui/file-drop.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { Name } from '../../ui/person-name.tsx'
import { hasScope, RightsNotice } from '../../ui/rights-notice.tsx'
import { ContentField, hashOfChosen, hasContent, useContent } from './content-field.tsx'
import { stampPartsIn, type StampParts } from './stamp-file.ts'
import { StampFactList, StampVerdictBox } from './stamp-verdict.tsx'

/** A stamp file that was chosen, or the name of another file. */
interface ChosenStamp {
  readonly name: string
  readonly parts: StampParts | null
}

const ROOT = /^[0-9a-f]{64}$/

/** A check that was made, and how it is made again with the root of the signer. */
export interface StampChecked {
  readonly verdict: Schemas['StampVerdict']
  readonly again: (root: string) => Promise<unknown>
}

/** Asks for the root of an unknown signer, and checks again with it. */
const RootForm = (of: { readonly check: StampChecked['again'] }) => {
  const { stamps } = messages()
  const root = useSignal('')
  const typed = root.value.trim().toLowerCase()
  const action = useAction(() => of.check(typed))
  return (
    <ActionForm action={action} submit={stamps.checkRoot} disabled={!ROOT.test(typed)}>
      <TextField label={stamps.root} hint={stamps.rootHint} value={root} maxLength={80} />
    </ActionForm>
  )
}

/** Shows the verdict of a check; nothing before the first one. */
export const StampCheckResult = ({ of }: { readonly of: StampChecked | null }) => {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (of !== null) box.current?.scrollIntoView({ block: 'nearest' })
  }, [of])
  const verdict = of?.verdict ?? null
  return (
    <div ref={box}>
      <StampVerdictBox of={verdict} />
      {of === null || verdict?.stamp == null ? null : (
        <section class="card" aria-label={messages().stamps.technical}>
          {verdict.reason === 'signer_unknown' ? <RootForm check={of.again} /> : null}
          <StampFactList of={verdict.stamp} />
        </section>
      )}
    </div>
  )
}

/** Checks a stamp. */
export const StampCheckForm = (of: {
  readonly onResult: (checked: StampChecked | null) => void
}) => {
  const { stamps } = messages()
  const content = useContent()
  const link = useSignal('')
  const stamp = useSignal<ChosenStamp | null>(null)

  async function check(root?: string): Promise<void> {
    const { sha256 } = await hashOfChosen(content)
    const file = stamp.value?.parts ?? null
    const given = file === null ? { link: link.value.trim() } : { file }
    const body = { sha256, ...given, ...(root === undefined ? {} : { root }) }
    const verdict = await dataOf(api.POST('/api/v1/stamps/check', { body }))
    of.onResult({ verdict, again: check })
  }
  const action = useAction(async () => {
    of.onResult(null)
    await check()
  })

  /** Takes the stamp among dropped files; returns the file that is none. */
  async function sorted(files: readonly File[]): Promise<File | null> {
    let other: File | null = null
    for (const file of files) {
      const parts = files.length > 1 ? await stampPartsIn(file) : null
      if (parts === null) other = file
      else stamp.value = { name: file.name, parts }
    }
    return other
  }
  async function takeStamp([file]: readonly File[]): Promise<void> {
    if (file !== undefined) stamp.value = { name: file.name, parts: await stampPartsIn(file) }
  }

  const chosen = stamp.value
  const hasStamp = (chosen !== null && chosen.parts !== null) || link.value.trim() !== ''
  return (
    <section class="card" aria-labelledby="stamp-check">
      <h2 id="stamp-check">{stamps.check}</h2>
      <ActionForm
        action={action}
        submit={stamps.checkIt}
        disabled={!hasContent(content) || !hasStamp || !hasScope('write')}
      >
        <RightsNotice needs="write" />
        <ContentField
          content={content}
          label={stamps.dropToCheck}
          hint={stamps.dropBoth}
          toText={stamps.checkText}
          toFile={stamps.checkFile}
          onFiles={sorted}
        />
        <TextField label={stamps.stampLink} type="url" value={link} maxLength={2048} />
        <FileDrop
          label={stamps.dropStamp}
          choose={stamps.chooseFile}
          onFiles={(files) => void takeStamp(files)}
        >
          {chosen?.parts == null ? null : (
            <span class="chosen" role="status">
              <MessageText of={stamps.stampChosen} values={{ name: <Name of={chosen.name} /> }} />
            </span>
          )}
        </FileDrop>
        {chosen !== null && chosen.parts === null ? (
          <NoticeBox kind="bad">
            <MessageText of={stamps.notStamp} values={{ name: <Name of={chosen.name} /> }} />
          </NoticeBox>
        ) : null}
      </ActionForm>
    </section>
  )
}

/** The content to stamp or to check: a file, or a text. */
import { useSignal, type Signal } from '@preact/signals'
import {
  hashedFile,
  hashedText,
  type ContentFault,
  type HashedContent,
} from '../../data/content.ts'
import { sizeText } from '../../text/size.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { FileDrop } from '../../ui/file-drop.tsx'
import { TextField } from '../../ui/fields.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { Name } from '../../ui/person-name.tsx'

/** The chosen content: a file with its hash, or a text, which is hashed when it is sent. */
export interface ChosenContent {
  readonly file: Signal<HashedContent | ContentFault | null>
  readonly text: Signal<string>
  readonly isText: Signal<boolean>
}

/** Returns content of which nothing was chosen yet. */
export const useContent = (): ChosenContent => ({
  file: useSignal<HashedContent | ContentFault | null>(null),
  text: useSignal(''),
  isText: useSignal(false),
})

/** Returns whether there is something to send. */
export const hasContent = ({ file, text, isText }: ChosenContent): boolean =>
  isText.value ? text.value !== '' : file.value !== null && typeof file.value === 'object'

/** Returns the chosen content with its hash. Something must be chosen. */
export const hashOfChosen = async ({
  file,
  text,
  isText,
}: ChosenContent): Promise<HashedContent> =>
  isText.value ? hashedText(text.value) : (file.value as HashedContent)

/** The field. `onFiles` gets the files before they are hashed, and returns the content. */
export const ContentField = (of: {
  readonly content: ChosenContent
  readonly label: string
  readonly hint?: string
  readonly toText: string
  readonly toFile: string
  readonly onFiles: (files: readonly File[]) => Promise<File | null>
}) => {
  const { stamps } = messages()
  const { file, text, isText } = of.content
  const take = async (files: readonly File[]) => {
    const found = await of.onFiles(files)
    if (found !== null) file.value = await hashedFile(found)
  }
  const chosen = file.value
  return (
    <>
      {isText.value ? (
        <TextField label={stamps.text} hint={stamps.textHint} value={text} rows={4} />
      ) : (
        <FileDrop
          label={of.label}
          choose={stamps.chooseFile}
          {...(of.hint === undefined ? {} : { hint: of.hint, isMultiple: true })}
          onFiles={(files) => void take(files)}
        >
          {chosen !== null && typeof chosen === 'object' ? (
            <span class="chosen" role="status">
              <MessageText
                of={stamps.chosen}
                values={{ name: <Name of={chosen.name ?? ''} />, size: sizeText(chosen.size) }}
              />
            </span>
          ) : null}
        </FileDrop>
      )}
      {typeof chosen === 'string' && !isText.value ? (
        <NoticeBox kind="bad">
          {chosen === 'unreadable' ? (
            stamps.unreadable
          ) : (
            <MessageText
              of={stamps.tooLarge}
              values={{ command: <code translate={false}>countersignd stamp</code> }}
            />
          )}
        </NoticeBox>
      ) : null}
      <p>
        <button
          type="button"
          class="small"
          onClick={() => {
            isText.value = !isText.value
          }}
        >
          {isText.value ? of.toFile : of.toText}
        </button>
      </p>
    </>
  )
}

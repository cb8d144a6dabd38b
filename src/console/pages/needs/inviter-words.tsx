/** The form for the four words of an inviter. */
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { ConsoleMessages } from '../../../languages/console/translation.ts'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { contactFor, reloadNeeds } from '../../data/needs.ts'
import { messages } from '../../text/text.tsx'
import { SubmitButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { areWords, emptyWords, WordsField } from '../../ui/words-field.tsx'

/** The messages for the reasons why words confirmed nothing. */
const REASONS = {
  wrong_words: 'wordsWrong',
  words_expired: 'wordsOver',
  no_words: 'wordsOver',
  words_used: 'wordsOver',
  too_many_tries: 'wordsOften',
  ad_mismatch: 'wordsDiffer',
  message_refused: 'wordsDiffer',
} as const satisfies Record<string, keyof ConsoleMessages['needs']>

/** Returns the message for a reason; undefined for another one. */
const reasonText = (reason: unknown): string | undefined => {
  const known = Object.entries(REASONS).find(([one]) => one === reason)?.[1]
  return known === undefined ? undefined : messages().needs[known]
}

/**
 * The form.
 * @param of `onApproved`: called if the words were right at once; otherwise an event follows
 */
export const InviterWords = (of: {
  readonly invitation: Schemas['Invitation']
  readonly onApproved: () => void
}) => {
  const texts = messages().needs
  const { id } = of.invitation
  const words = useSignal(emptyWords(4))
  const form = useRef<HTMLFormElement>(null)
  const approval = useAction(async () => {
    const body = { words: words.value.join(' ') }
    words.value = emptyWords(4)
    const { state } = await dataOf(
      api.POST('/api/v1/invitations/{id}/approve', { params: { path: { id } }, body }),
    )
    await reloadNeeds()
    if (state === 'approved') of.onApproved()
  })
  const contact = contactFor(id)
  const isComparing = contact?.state === 'open'
  const problem = reasonText(approval.failure.value?.details['state'] ?? contact?.reason)
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        if (areWords(words.value))
          void approval.run().then(() => form.current?.querySelector('input')?.focus())
      }}
    >
      <p class="hint">{texts.wordsHint}</p>
      <WordsField label={texts.fourWords} value={words} disabled={isComparing} />
      {isComparing ? (
        <p role="status">{texts.contactOpenText}</p>
      ) : problem === undefined ? (
        <FailureNotice of={approval.failure} />
      ) : (
        <NoticeBox kind="bad">{problem}</NoticeBox>
      )}
      <SubmitButton action={approval} disabled={isComparing || !areWords(words.value)}>
        {texts.approveWithWords}
      </SubmitButton>
    </form>
  )
}

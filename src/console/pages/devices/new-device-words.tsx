/** The form for the words of the new device. */
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type ApiFailure } from '../../data/api.ts'
import { filled, messages } from '../../text/text.tsx'
import { SubmitButton } from '../../ui/button.tsx'
import { areWords, emptyWords, WordsField } from '../../ui/words-field.tsx'
import { ApprovalFailure, isAttemptOver } from './approval-failure.tsx'

/**
 * The form.
 * @param of `onApproved`: called with the words of this device; `onOver`: called if only a new
 *   attempt can succeed
 */
export const NewDeviceWords = (of: {
  readonly id: string
  readonly name: string
  readonly onApproved: (words: string) => void
  readonly onOver: (failure: ApiFailure) => void
}) => {
  const texts = messages().devices
  const words = useSignal(emptyWords(4))
  const form = useRef<HTMLFormElement>(null)
  const comparison = useAction(async () => {
    const { words: own } = await dataOf(
      api.POST('/api/v1/devices/{id}/approval', {
        params: { path: { id: of.id } },
        body: { words: words.value.join(' ') },
      }),
    )
    of.onApproved(own)
  })
  const compare = async () => {
    if (await comparison.run()) return
    const failure = comparison.failure.value
    if (failure === null) return
    if (isAttemptOver(failure)) {
      of.onOver(failure)
      return
    }
    if (failure.code === 'validation_failed') words.value = emptyWords(4)
    form.current?.querySelector('input')?.focus()
  }
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        if (areWords(words.value)) void compare()
      }}
    >
      <WordsField
        label={filled(texts.theirWords, { name: displayedName(of.name) })}
        value={words}
        autofocus
      />
      <ApprovalFailure of={comparison.failure} />
      <SubmitButton action={comparison} disabled={!areWords(words.value)}>
        {texts.compare}
      </SubmitButton>
    </form>
  )
}

/** The form for the words that the user hears, with the verdict about them. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { messages } from '../../text/text.tsx'
import { ActionButton, SubmitButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { areWords, emptyWords, WordsField } from '../../ui/words-field.tsx'
import { callVerdictOf, type CallVerdict } from './verdict.ts'

/** Checks words at the daemon. */
export type CheckOfWords = (words: string) => Promise<Schemas['Verification']>

/** Shows a verdict in the full width of the page. Screen readers announce it at once. */
export const VerdictBox = ({ of }: { readonly of: CallVerdict | null }) => {
  const { call } = messages()
  const sync = useAction(() => dataOf(api.POST('/api/v1/sync')))
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (of !== null) box.current?.scrollIntoView({ block: 'nearest' })
  }, [of])
  return (
    <div role="alert" ref={box}>
      {of === null ? null : (
        <div class="verdict" data-kind={of.kind}>
          <h2>{of.title}</h2>
          {of.next.map((line, at) => (
            <p key={at}>{line}</p>
          ))}
          {of.canSync ? (
            <>
              <ActionButton action={sync}>{call.sync}</ActionButton>
              <FailureNotice of={sync.failure} />
            </>
          ) : null}
        </div>
      )}
    </div>
  )
}

/**
 * The form.
 * @param of `expected`: the name of the called person, or null; `onProven`: called
 * with the speaker and the verdict if the words prove the speaker
 */
export const CheckForm = (of: {
  readonly check: CheckOfWords
  readonly expected: string | null
  readonly onProven: (speaker: Schemas['Match'], verdict: CallVerdict) => void
  /** Called if the words do not prove a speaker. */
  readonly onRefused?: () => void
  /** Whether the form can be used again after a wrong answer. */
  readonly isRepeatable?: boolean
}) => {
  const { call } = messages()
  const words = useSignal(emptyWords(3))
  const verdict = useSignal<CallVerdict | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const action = useAction(async () => {
    verdict.value = null
    const found = callVerdictOf(await of.check(words.value.join(' ')), of.expected)
    verdict.value = found
    if (found.speaker !== null) of.onProven(found.speaker, found)
    else {
      of.onRefused?.()
      words.value = emptyWords(3)
      form.current?.querySelector('input')?.focus()
    }
  })
  const isOver = of.isRepeatable === false && verdict.value !== null
  return (
    <>
      <VerdictBox of={verdict.value} />
      {isOver ? null : (
        <form
          ref={form}
          class="card"
          onSubmit={(event) => {
            event.preventDefault()
            if (areWords(words.value)) void action.run()
          }}
        >
          <WordsField label={call.heard} value={words} autofocus />
          <FailureNotice of={action.failure} />
          {action.failure.value === null ? null : <p>{call.provesNothing}</p>}
          <SubmitButton action={action} disabled={!areWords(words.value)}>
            {call.check}
          </SubmitButton>
        </form>
      )}
    </>
  )
}

/** The check of words of a stranger, which the account server looks up. */
import { useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { SubmitButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { Name } from '../../ui/person-name.tsx'
import { areWords, emptyWords, WordsField } from '../../ui/words-field.tsx'
import { nameOfMatch } from './verdict.ts'

type Found = Schemas['PublicVerification']

/** Returns the result as a sentence, and what it is worth. */
function publicVerdict(found: Found): { kind: 'ok' | 'warn' | 'bad'; lines: ComponentChild[] } {
  const { call } = messages()
  if (found.replayed) return { kind: 'bad', lines: [call.replayed] }
  if (found.echo) return { kind: 'bad', lines: [call.echo, call.echoNext] }
  if (found.old_epoch === true) return { kind: 'warn', lines: [call.oldEpoch, call.oldEpochNext] }
  if (found.ambiguous) return { kind: 'warn', lines: [call.publicMany] }
  const [first] = found.matches
  if (first === undefined)
    return found.conclusive
      ? { kind: 'bad', lines: [call.publicNone, call.wrongNext] }
      : { kind: 'warn', lines: [call.cannotSay, call.cannotSayNext] }
  if (first.match !== undefined)
    return {
      kind: 'ok',
      lines: [<MessageText of={call.verified} values={{ name: nameOfMatch(first.match) }} />],
    }
  if (first.profile === undefined) return { kind: 'warn', lines: [call.publicStamp] }
  const name = <Name of={first.profile.display_name} />
  return {
    kind: 'warn',
    lines: [<MessageText of={call.publicFound} values={{ name }} />, call.publicVouch],
  }
}

export const PublicCheck = () => {
  const { call } = messages()
  const words = useSignal(emptyWords(3))
  const found = useSignal<Found | null>(null)
  const action = useAction(async () => {
    found.value = await dataOf(
      api.POST('/api/v1/verify/public', { body: { words: words.value.join(' ') } }),
    )
    words.value = emptyWords(3)
  })
  const verdict = found.value === null ? null : publicVerdict(found.value)
  return (
    <>
      <p class="rule">{call.publicLead}</p>
      <div role="alert">
        {verdict === null ? null : (
          <div class="verdict" data-kind={verdict.kind}>
            {verdict.lines.map((line, at) =>
              at === 0 ? <h2 key={at}>{line}</h2> : <p key={at}>{line}</p>,
            )}
          </div>
        )}
      </div>
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          if (areWords(words.value)) void action.run()
        }}
      >
        <WordsField label={call.heard} value={words} autofocus />
        <FailureNotice of={action.failure} />
        <SubmitButton action={action} disabled={!areWords(words.value)}>
          {call.check}
        </SubmitButton>
      </form>
    </>
  )
}

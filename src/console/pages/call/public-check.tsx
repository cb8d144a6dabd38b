/** The check of words of a stranger, which the account server looks up. */
import { useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { Name } from '../../ui/person-name.tsx'
import { areWords, emptyWords, WordsField } from '../../ui/words-field.tsx'
import { VerdictBox } from './check-form.tsx'
import { type CallVerdict, nameOfMatch } from './verdict.ts'

type Found = Schemas['PublicVerification']

/** Returns the verdict about a result. Words of a stranger prove no speaker. */
function publicVerdict(found: Found): CallVerdict {
  const { call } = messages()
  const verdict = (
    kind: CallVerdict['kind'],
    title: ComponentChild,
    ...next: readonly ComponentChild[]
  ): CallVerdict => ({ kind, title, next, speaker: null, canSync: false })
  if (found.replayed) return verdict('bad', call.replayed)
  if (found.echo) return verdict('bad', call.echo, call.echoNext)
  if (found.old_epoch === true) return verdict('warn', call.oldEpoch, call.oldEpochNext)
  if (found.ambiguous) return verdict('warn', call.publicMany)
  const [first] = found.matches
  if (first === undefined)
    return found.conclusive
      ? verdict('bad', call.publicNone, call.wrongNext)
      : verdict('warn', call.cannotSay, call.cannotSayNext)
  if (first.match !== undefined)
    return verdict(
      'ok',
      <MessageText of={call.verified} values={{ name: nameOfMatch(first.match) }} />,
    )
  if (first.profile === undefined) return verdict('warn', call.publicStamp)
  const name = <Name of={first.profile.display_name} />
  return verdict('warn', <MessageText of={call.publicFound} values={{ name }} />, call.publicVouch)
}

export const PublicCheck = () => {
  const { call } = messages()
  const words = useSignal(emptyWords(3))
  const verdict = useSignal<CallVerdict | null>(null)
  const action = useAction(async () => {
    const found = await dataOf(
      api.POST('/api/v1/verify/public', { body: { words: words.value.join(' ') } }),
    )
    verdict.value = publicVerdict(found)
    words.value = emptyWords(3)
  })
  return (
    <>
      <p class="rule">{call.publicLead}</p>
      <VerdictBox of={verdict.value} />
      <section class="card">
        <ActionForm action={action} submit={call.check} disabled={!areWords(words.value)}>
          <WordsField label={call.heard} value={words} autofocus />
        </ActionForm>
      </section>
    </>
  )
}

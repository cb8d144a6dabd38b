/** Words that are good for one listener and one purpose: both sides of a challenge. */
import { useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { wordsForChallenge } from '../../data/own-words.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { TextField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { areWords, emptyWords, WordsField } from '../../ui/words-field.tsx'
import { CheckForm } from './check-form.tsx'
import { SpokenWords } from './own-words.tsx'
import type { CallVerdict } from './verdict.ts'

type Drawn = Schemas['Challenge']

const drawChallengeFor = (connection: string, purpose: string): Promise<Drawn> =>
  dataOf(api.POST('/api/v1/verify/challenges', { body: { connection_id: connection, purpose } }))

/** Moves the focus to an element that replaces a form, so that the keyboard continues there. */
const takeFocus = (element: HTMLElement | null): void => element?.focus()

const Purpose = ({ of }: { readonly of: string }) => (
  <strong>
    <bdi>{of}</bdi>
  </strong>
)

/** The other person confirms a purpose to the user. */
export const AskForPurpose = (of: {
  readonly connection: string
  readonly onProven: (verdict: CallVerdict) => void
  readonly onRefused: () => void
}) => {
  const { call } = messages()
  const purpose = useSignal('')
  const drawn = useSignal<Drawn | null>(null)
  const draw = useAction(async () => {
    drawn.value = await drawChallengeFor(of.connection, purpose.value)
  })
  const challenge = drawn.value
  if (challenge === null)
    return (
      <section class="card">
        <ActionForm action={draw} submit={call.draw}>
          <TextField
            label={call.purpose}
            hint={call.purposeHint}
            value={purpose}
            required
            autofocus
          />
        </ActionForm>
      </section>
    )
  return (
    <>
      <section class="card own-words">
        <h2>
          <MessageText of={call.sayWord} values={{ purpose: <bdi>{purpose.value}</bdi> }} />
        </h2>
        <SpokenWords words={challenge.word} />
        <p>
          <MessageText
            of={call.sayPurpose}
            values={{ purpose: <Purpose of={challenge.purpose} /> }}
          />
        </p>
        <p>{call.askAnswer}</p>
      </section>
      <CheckForm
        key={challenge.id}
        check={(words) =>
          dataOf(api.POST('/api/v1/verify', { body: { words, challenge_id: challenge.id } }))
        }
        expected={null}
        isRepeatable={false}
        onRefused={of.onRefused}
        onProven={(_, verdict) => {
          of.onProven(verdict)
        }}
      />
    </>
  )
}

/** The user confirms a purpose to the other person, who gave a word. */
export const ConfirmPurpose = (of: {
  readonly connection: string
  /** The member who asked; undefined in a direct connection. */
  readonly listener: string | undefined
  readonly name: ComponentChild
}) => {
  const { call } = messages()
  const challenge = useSignal(emptyWords(1))
  const purpose = useSignal('')
  const code = useSignal<Schemas['Code'] | null>(null)
  const isShown = useSignal(false)
  const read = () =>
    wordsForChallenge(of.connection, {
      challenge: challenge.value.join(' '),
      purpose: purpose.value,
      ...(of.listener === undefined ? {} : { listener: of.listener }),
    })
  const look = useAction(async () => {
    code.value = await read()
  })
  const show = useAction(async () => {
    code.value = await read()
    isShown.value = true
  })
  if (code.value === null)
    return (
      <section class="card">
        <ActionForm action={look} submit={call.show} disabled={!areWords(challenge.value)}>
          <p>{call.confirmLead}</p>
          <WordsField label={call.challenge} value={challenge} autofocus />
          <TextField label={call.purposeTheirs} value={purpose} required />
        </ActionForm>
      </section>
    )
  return (
    <section class="card own-words" tabIndex={-1} ref={takeFocus}>
      <h2>{call.confirmsLead}</h2>
      <p class="purpose">
        <Purpose of={code.value.purpose ?? ''} />
      </p>
      {isShown.value ? (
        <div aria-live="polite">
          <p>
            <MessageText of={call.sayConfirming} values={{ name: of.name }} />
          </p>
          <SpokenWords words={code.value.words} />
        </div>
      ) : (
        <>
          <p>{call.confirmsAsk}</p>
          <FailureNotice of={show.failure} />
          <ActionButton action={show} kind="main">
            {call.showWords}
          </ActionButton>
        </>
      )}
    </section>
  )
}

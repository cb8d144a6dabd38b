/** The words that the user speaks: large, with the time that they have left, spelt on demand. */
import { useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { now, secondsLeft } from '../../data/clock.ts'
import { useOwnWords } from '../../data/own-words.ts'
import type { Resource } from '../../data/resource.ts'
import { filled, messages } from '../../text/text.tsx'
import { spellingOf } from '../../text/word-input.ts'
import { FailureNotice } from '../../ui/failure.tsx'

/** Shows words, large enough to read at arm's length. */
export const SpokenWords = ({ words }: { readonly words: string }) => {
  const { call } = messages()
  const isSpelt = useSignal(false)
  return (
    <>
      <p class="spoken" lang="en" translate={false}>
        {words.split(' ').map((word) => (
          <span key={word}>
            <strong>{word}</strong>
            {isSpelt.value ? <small>{spellingOf(word)}</small> : null}{' '}
          </span>
        ))}
      </p>
      <button
        type="button"
        class="small"
        aria-pressed={isSpelt.value}
        onClick={() => {
          isSpelt.value = !isSpelt.value
        }}
      >
        {isSpelt.value ? call.noSpelling : call.spell}
      </button>
    </>
  )
}

/** How long the words of this minute are left. */
const Countdown = () => {
  const { call } = messages()
  const left = secondsLeft(now.value)
  return (
    <div class="countdown">
      <progress max={60} value={left} aria-hidden="true" />
      <p>{filled(call.change, { count: left })}</p>
    </div>
  )
}

/** Shows words that were read, with the time that they have left. */
export const OwnWordsCard = (of: {
  readonly words: Resource<string | null>
  readonly title: ComponentChild
}) => (
  <section class="card own-words" aria-labelledby="own-words">
    <h2 id="own-words">{of.title}</h2>
    <FailureNotice of={of.words.failure} />
    <div aria-live="polite" class="spoken-box">
      {of.words.data.value == null ? null : <SpokenWords words={of.words.data.value} />}
    </div>
    <Countdown />
  </section>
)

/** The own words for a connection or a guest, read again each minute. */
export const OwnWords = (of: { readonly id: string; readonly title: ComponentChild }) => (
  <OwnWordsCard words={useOwnWords(of.id)} title={of.title} />
)

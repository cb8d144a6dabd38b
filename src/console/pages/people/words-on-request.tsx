/** The own words for a person, shown on request, or why there are none. */
import { useSignal } from '@preact/signals'
import { useOwnWords } from '../../data/own-words.ts'
import { messages } from '../../text/text.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { OwnWordsCard } from '../call/own-words.tsx'

/** The errors that say why there are no words, with a message that names who must act. */
const NO_WORDS = new Set(['invalid_state', 'secret_unavailable'])

/**
 * Shows the words. They are hidden at first, because a person who is called must not say them
 * before the caller's words were right.
 * @param of the id of the connection or the guest code
 */
export const WordsOnRequest = ({ id }: { readonly id: string }) => {
  const { people } = messages()
  const words = useOwnWords(id)
  const isShown = useSignal(false)
  const failure = words.failure.value
  if (failure === null && isShown.value)
    return <OwnWordsCard words={words} title={people.yourWords} />
  return (
    <section class="card">
      <h2>{people.yourWords}</h2>
      {failure === null ? (
        <>
          <p>{people.yourWordsHint}</p>
          <button
            type="button"
            onClick={() => {
              isShown.value = true
            }}
          >
            {people.showWords}
          </button>
        </>
      ) : NO_WORDS.has(failure.code) ? (
        <>
          <p>{people.noWordsNow}</p>
          <p class="hint" lang="en">
            {failure.message}
          </p>
        </>
      ) : (
        <FailureNotice of={words.failure} />
      )}
    </section>
  )
}

/** Four words for an invitation, shown once, with how far the first contact is. */
import { useEffect, useRef } from 'preact/hooks'
import { useAction } from '../../../data/action.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { now } from '../../../data/clock.ts'
import { useResource } from '../../../data/resource.ts'
import { filled, messages } from '../../../text/text.tsx'
import { SpokenWords } from '../../call/own-words.tsx'
import { ActionButton } from '../../../ui/button.tsx'
import { FailureNotice } from '../../../ui/failure.tsx'
import { NoticeBox } from '../../../ui/notice.tsx'

/** The events after which a first contact may have ended. */
const EVENTS = ['first_contact.*', 'trust.*', 'invitation.*']

const FAILED = {
  wrong_words: 'fourWordsWrong',
  words_expired: 'fourWordsExpired',
  ad_mismatch: 'fourWordsRefused',
  message_refused: 'fourWordsRefused',
} as const

/** Returns a duration as minutes and seconds, such as "14:05". */
function minutesAndSeconds(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

/**
 * Shows the words until the first contact has ended.
 * @param of `onAgain`: called with new words
 */
export const ContactWordsCard = (of: {
  readonly of: Schemas['ContactWords']
  readonly onAgain: (words: Schemas['ContactWords']) => void
}) => {
  const { people } = messages()
  const { invitation_id: id, words, expires_at } = of.of
  const contact = useResource(
    `contact ${words}`,
    async () => {
      const { items } = await dataOf(api.GET('/api/v1/first-contacts'))
      return items.find(({ invitation_id }) => invitation_id === id)
    },
    EVENTS,
  )
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // The form or the button that made the words may be gone.
    heading.current?.focus()
  }, [])
  const left = Date.parse(expires_at) - now.value
  const isOver = left <= 0
  useEffect(() => {
    if (isOver) void contact.reload()
  }, [isOver])
  const again = useAction(async () => {
    const params = { path: { id } }
    of.onAgain(await dataOf(api.POST('/api/v1/invitations/{id}/words', { params })))
  })
  const { state, reason } = contact.data.value ?? { state: 'open', reason: null }
  const failed = state === 'failed' ? people[FAILED[reason ?? 'message_refused']] : null
  if (state === 'confirmed') return <NoticeBox kind="ok">{people.fourWordsDone}</NoticeBox>
  return (
    <section class="card four-words">
      <h2 ref={heading} tabIndex={-1}>
        {people.fourWordsTitle}
      </h2>
      {failed === null && !isOver ? (
        <>
          <SpokenWords words={words} />
          <p class="hint">{people.fourWordsHint}</p>
          <p class="hint">{filled(people.fourWordsLeft, { time: minutesAndSeconds(left) })}</p>
          <p role="status">{people.fourWordsOpen}</p>
        </>
      ) : (
        <>
          <NoticeBox kind="bad">{failed ?? people.fourWordsOver}</NoticeBox>
          <ActionButton action={again}>{people.fourWordsAgain}</ActionButton>
        </>
      )}
      <FailureNotice of={again.failure} />
    </section>
  )
}

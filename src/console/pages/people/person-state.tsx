/** The state of a person in words. */
import { thisMinute } from '../../data/clock.ts'
import { filled, messages, timeRelative } from '../../text/text.tsx'
import { STATE_TONES, type PersonStateKind } from './people-rows.ts'

/**
 * Shows a state.
 * @param of `until`: when a guest code ends, which the state may name
 */
export const PersonStateText = (of: {
  readonly state: PersonStateKind
  readonly until?: string | undefined
}) => {
  const { people } = messages()
  const { state, until } = of
  const text =
    state === 'guestEndsSoon'
      ? filled(people.guestEndsSoon, { time: timeRelative(until ?? '', thisMinute.value) })
      : people[state]
  return (
    <span class="person-state" data-tone={STATE_TONES[state]}>
      {text}
    </span>
  )
}

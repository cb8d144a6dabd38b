/** Own words for one listener and one purpose (protocol, section 2). */
import type { Code } from '../../api/rest/connections.ts'
import { invalid } from '../../api/input.ts'
import type { ConnectionRow, NamedMember } from '../../state/connections.ts'
import { typedPurpose } from './challenges.ts'
import type { State } from '../../state/state.ts'
import type { Codes } from './codes.ts'
import { nameOf } from '../names.ts'
import { challengeWord } from './typed-words.ts'

/** A listener's challenge, as the speaker typed it. */
interface ListenerChallenge {
  readonly challenge: string
  readonly purpose?: string | undefined
  /** The listener's account id; undefined if the connection has only one other member. */
  readonly listener?: string | undefined
}

/**
 * Returns the listener.
 * @throws AppError `validation_failed` if there is no other member, if there are several and
 *   `given` is undefined, or if `given` is not another member
 */
function listenerIn(row: ConnectionRow, own: string, given: string | undefined): NamedMember {
  const others = row.members.filter(({ user_id }) => user_id !== own)
  const refused = (message: string) => invalid('query', [{ path: 'listener', message }])
  if (others.length === 0) throw refused('You are the only member of this connection so far.')
  if (given === undefined && others.length > 1)
    throw refused(
      'This connection has several other members. Name the member who gave the challenge.',
    )
  const listener = given === undefined ? others[0] : others.find(({ user_id }) => user_id === given)
  if (listener === undefined) throw refused('This is not another member of the connection.')
  return listener
}

/**
 * Returns the words to say now to a listener who gave a challenge.
 * @param at Unix milliseconds
 * @returns null if this device has no words for the connection
 * @throws AppError `word_count`, `unknown_word` for the challenge; `too_long` for the purpose;
 *   `validation_failed` for the listener
 */
export function wordsForListener(
  { state, codes, identity }: { state: State; codes: Codes; identity: { account: string } },
  connection: string,
  request: ListenerChallenge,
  at: number,
): Code | null {
  const word = challengeWord(request.challenge)
  const purpose = typedPurpose(request.purpose ?? '')
  const row = state.connections.get(connection)
  if (row === null) return null
  const own = identity.account
  const { user_id: listener, display_name } = listenerIn(row, own, request.listener)
  const { display_name: listener_name, ...naming } = nameOf({ state, own }, listener, display_name)
  const code = codes.toListener(connection, { listener, word, purpose }, at)
  if (code === null) return null
  return {
    connection_id: connection,
    ...code,
    listener,
    listener_name,
    ...naming,
    purpose: purpose.shown,
  }
}

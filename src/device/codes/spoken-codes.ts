/**
 * The codes of speakers at a time: those for all listeners, or those for one listener and
 * purpose.
 */
import { type ChallengeInput, challengeReader } from '../../crypto/challenge.ts'
import { acceptedAt, codeOf, codeReader } from '../../crypto/code.ts'
import type { Speaker } from './code-subjects.ts'

/** The challenge that the device of a listener drew: see `OpenChallenge`. */
export interface Answered {
  /** The index of its word. */
  readonly word: number
  readonly purpose: ChallengeInput['purpose']
}

/** Returns the codes of a speaker in a window, as numbers. */
type Read = (speaker: Speaker, window: number) => number[]

function forEveryone(kc: Uint8Array): Read {
  const read = codeReader(kc)
  return ({ bytes }, window) => [codeOf(read(window, bytes))]
}

/**
 * Returns the codes for single listeners. Own words count for any listener: if another member was
 * given them and repeats them, they are an echo.
 */
function forListeners(kc: Uint8Array, all: readonly Speaker[], { word, purpose }: Answered): Read {
  const read = challengeReader(kc)
  return (speaker, window) =>
    all
      .filter(({ self }) => self !== speaker.self)
      .map(({ bytes: listener }) =>
        codeOf(read({ window, speaker: speaker.bytes, listener, challenge: word, purpose })),
      )
}

/**
 * Returns the speakers who have these words, with the windows in which they do.
 * @param of `all` are the speakers of the subject, `speakers` those that count; `challenge` is
 *   null for words that are for all listeners
 */
export function spokenBy(
  of: {
    readonly kc: Uint8Array
    readonly all: readonly Speaker[]
    readonly speakers: readonly Speaker[]
    readonly challenge: Answered | null
  },
  indices: readonly number[],
  now: number,
): { readonly speaker: Speaker; readonly window: number }[] {
  const { kc, all, speakers, challenge } = of
  const read = challenge === null ? forEveryone(kc) : forListeners(kc, all, challenge)
  const code = codeOf(indices)
  return speakers.flatMap((speaker) =>
    acceptedAt(now)
      .filter((window) => read(speaker, window).includes(code))
      .map((window) => ({ speaker, window })),
  )
}

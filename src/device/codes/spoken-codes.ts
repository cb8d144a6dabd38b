/** The codes that speakers say now: those for everyone, or those for one listener and purpose. */
import { type Challenge, challengeReader } from '../../crypto/challenge.ts'
import { acceptedAt, codeOf, codeReader } from '../../crypto/code.ts'
import type { Speaker } from './code-subjects.ts'

/** What a listener's device drew: see `OpenChallenge`. */
export interface Answered {
  /** The index of its word. */
  readonly word: number
  readonly purpose: Challenge['purpose']
}

/** The codes, as numbers, that a speaker says in a window. */
type Read = (speaker: Speaker, window: number) => number[]

function forEveryone(kc: Uint8Array): Read {
  const read = codeReader(kc)
  return ({ bytes }, window) => [codeOf(read(window, bytes))]
}

/** Own words count for any listener: those that another member was given would be an echo. */
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
 * Those of some speakers who say these words, with the windows in which they do.
 * @param of `all` are the speakers of the subject, `speakers` those that count; `challenge` is null
 *   for words for everyone
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

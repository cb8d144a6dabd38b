/**
 * The speakers with words that can be checked. Typed arrays hold the code keys of very many
 * subjects (connections and guest codes) and the ids of their speakers, about 64 bytes a subject
 * and 24 a speaker. A speaker has a place, a small number. After the speaker is removed, another
 * one gets it.
 */
import { codeUnder } from '../../crypto/code.ts'
import { KEPT_WORDS, keepKey } from '../../crypto/kept-hmac.ts'
import { newIdMap } from './id-map.ts'

/** Memory is allocated in pages of this many entries: growing adds a page and copies nothing. */
const PAGE = 1024
const ID = 16
const NONE = 2 ** 32 - 1

export interface Speakers {
  /**
   * Adds a subject that is not here.
   * @param kc its code key, 32 bytes, which is copied
   * @param speakers the ids of its speakers, 16 bytes each
   * @returns the places of its speakers
   */
  add(id: string, kc: Uint8Array, speakers: readonly Uint8Array[]): number[]
  /** Removes a subject, if it is here, and wipes its key. */
  remove(id: string): void
  /** Returns the number of subjects. */
  subjects(): number
  /** Returns the lowest number that was never given as a place. */
  places(): number
  /** Returns the code of the speaker at a place, a number of 36 bits; null for a free place. */
  code(place: number, window: number): number | null
  /** Returns the speaker at a place in use: the subject, and the 16 bytes of the speaker's id. */
  at(place: number): { readonly id: string; readonly speaker: Uint8Array }
}

interface SubjectPage {
  readonly keys: Uint32Array
  /** The place of the first speaker of each subject. */
  readonly first: Uint32Array
}

interface SpeakerPage {
  readonly ids: Uint8Array
  /** The subject at each place; `NONE` for a free place. */
  readonly subject: Uint32Array
  /** The place of the next speaker of the same subject; for a free place, the next free place. */
  readonly next: Uint32Array
}

/**
 * Creates an empty set of speakers.
 * @param read computes a code
 */
export function newSpeakers(read: typeof codeUnder = codeUnder): Speakers {
  const subjectPages: SubjectPage[] = []
  const speakerPages: SpeakerPage[] = []
  const numbers = newIdMap<number>()
  /** By number; null for a free number. */
  const ids: (string | null)[] = []
  const freeNumbers: number[] = []
  let freePlace = NONE
  let places = 0

  const subjectPage = (subject: number) => subjectPages[Math.floor(subject / PAGE)]!
  const speakerPage = (place: number) => speakerPages[Math.floor(place / PAGE)]!

  function newNumber(): number {
    const subject = freeNumbers.pop() ?? ids.length
    if (subject === subjectPages.length * PAGE)
      subjectPages.push({
        keys: new Uint32Array(PAGE * KEPT_WORDS),
        first: new Uint32Array(PAGE),
      })
    return subject
  }

  function newPlace(): number {
    if (freePlace !== NONE) {
      const place = freePlace
      freePlace = speakerPage(place).next[place % PAGE]!
      return place
    }
    if (places === speakerPages.length * PAGE)
      speakerPages.push({
        ids: new Uint8Array(PAGE * ID),
        subject: new Uint32Array(PAGE),
        next: new Uint32Array(PAGE),
      })
    return places++
  }

  return {
    subjects: () => numbers.size(),
    places: () => places,

    add(id, kc, speakers) {
      const subject = newNumber()
      numbers.set(id, subject)
      ids[subject] = id
      const { keys, first } = subjectPage(subject)
      keepKey(kc, keys, (subject % PAGE) * KEPT_WORDS)
      let last = NONE
      const given = speakers.map((speaker) => {
        const place = newPlace()
        const page = speakerPage(place)
        page.ids.set(speaker, (place % PAGE) * ID)
        page.subject[place % PAGE] = subject
        page.next[place % PAGE] = last
        return (last = place)
      })
      first[subject % PAGE] = last
      return given
    },

    remove(id) {
      const subject = numbers.get(id)
      if (subject === undefined) return
      numbers.delete(id)
      ids[subject] = null
      freeNumbers.push(subject)
      const { keys, first } = subjectPage(subject)
      const at = (subject % PAGE) * KEPT_WORDS
      keys.fill(0, at, at + KEPT_WORDS)
      for (let place = first[subject % PAGE]!; place !== NONE;) {
        const { subject: of, next } = speakerPage(place)
        const other = next[place % PAGE]!
        of[place % PAGE] = NONE
        next[place % PAGE] = freePlace
        freePlace = place
        place = other
      }
    },

    code(place, window) {
      const page = speakerPage(place)
      const subject = page.subject[place % PAGE]!
      if (subject === NONE) return null
      const { keys } = subjectPage(subject)
      return read(keys, (subject % PAGE) * KEPT_WORDS, window, page.ids, (place % PAGE) * ID)
    },

    at(place) {
      const page = speakerPage(place)
      const from = (place % PAGE) * ID
      return {
        id: ids[page.subject[place % PAGE]!]!,
        speaker: page.ids.slice(from, from + ID),
      }
    },
  }
}

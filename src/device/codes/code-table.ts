/**
 * The speakers with words that can be checked, and the hash table of one window's codes.
 *
 * Typed arrays store the code keys of many subjects (connections and guest codes) and the ids of
 * their speakers: about 64 bytes per subject and 24 per speaker. Each speaker has a place, which is
 * a small number. When a speaker is removed, its place is reused.
 *
 * A window's codes and their speakers are in a hash table with open addressing (linear probing), in
 * two typed arrays. A code is the output of a MAC, so it is its own hash.
 */
import { codeUnder } from '../../crypto/code.ts'
import { keepKey, KEPT_WORDS } from '../../crypto/kept-hmac.ts'

/**
 * The number of small maps in an `IdMap`, a map for very many ids. JavaScript copies a whole `Map`
 * whenever it doubles, which blocks all requests: 10 ms at 65,536 entries.
 */
const PARTS = 64

interface IdMap<V> {
  get(id: string): V | undefined
  set(id: string, value: V): void
  /**
   * Deletes an entry.
   * @returns whether it was there
   */
  delete(id: string): boolean
  size(): number
}

/** Creates an empty map. Ids must differ in their last two characters, as this program's ids do. */
export function newIdMap<V>(): IdMap<V> {
  const parts = Array.from({ length: PARTS }, () => new Map<string, V>())
  let size = 0

  const partOf = (id: string) =>
    parts[(id.charCodeAt(id.length - 1) + 7 * id.charCodeAt(id.length - 2)) % PARTS]!

  return {
    get: (id) => partOf(id).get(id),
    size: () => size,

    set(id, value) {
      const part = partOf(id)
      size -= part.size
      part.set(id, value)
      size += part.size
    },

    delete(id) {
      const isGone = partOf(id).delete(id)
      if (isGone) size--
      return isGone
    },
  }
}

/** The maximum load of a table. At this load, a look-up without a match reads about 12 entries. */
const LOAD = 0.8

export interface CodeTable {
  /** Returns how many more codes the table has room for. */
  room(): number
  /**
   * Adds a speaker with a code. Does nothing if the pair is there. The caller must ensure that
   * there is room.
   */
  enter(code: number, speaker: number): void
  /**
   * Returns the speakers who may have a code.
   *
   * The table stores only 32 of the code's 36 bits and never removes an entry, so the caller must
   * compute the code of each speaker again.
   */
  find(code: number): number[]
  clear(): void
}

/** Creates an empty table for at least `codes` codes. A slot takes eight bytes. */
export function newCodeTable(codes: number): CodeTable {
  const size = 2 ** Math.ceil(Math.log2(codes / LOAD))
  const tags = new Uint32Array(size)
  /** The speaker's place plus one; 0 means a free slot. */
  const speakers = new Uint32Array(size)
  let room = Math.floor(size * LOAD)

  const next = (at: number) => (at + 1) % size

  return {
    room: () => room,

    enter(code, speaker) {
      const tag = code >>> 0
      let at = tag % size
      for (; speakers[at] !== 0; at = next(at))
        if (speakers[at] === speaker + 1 && tags[at] === tag) return
      tags[at] = tag
      speakers[at] = speaker + 1
      room--
    },

    find(code) {
      const tag = code >>> 0
      const found: number[] = []
      for (let at = tag % size; speakers[at] !== 0; at = next(at))
        if (tags[at] === tag) found.push(speakers[at]! - 1)
      return found
    },

    clear() {
      speakers.fill(0)
      room = Math.floor(size * LOAD)
    },
  }
}

/** The number of entries in a page of memory. Growing adds a page and copies nothing. */
const PAGE = 1024
const ID = 16
const NONE = 2 ** 32 - 1

interface Speakers {
  /**
   * Adds a subject, which must not be there yet.
   * @param kc the subject's code key, 32 bytes, which is copied
   * @param speakers the ids of the subject's speakers, 16 bytes each
   * @returns the places of its speakers
   */
  add(id: string, kc: Uint8Array, speakers: readonly Uint8Array[]): number[]
  /** Removes a subject if it is there, and wipes its key. */
  remove(id: string): void
  /** Returns the number of subjects. */
  subjects(): number
  /** Returns the lowest number that was never used as a place. */
  places(): number
  /** Returns the code of the speaker at a place, a 36-bit number; null if the place is free. */
  code(place: number, window: number): number | null
  /**
   * Returns the speaker at a place in use: the subject id, and the 16 bytes of the speaker's id.
   */
  at(place: number): { readonly id: string; readonly speaker: Uint8Array }
}

interface SubjectPage {
  readonly keys: Uint32Array
  /** The place of each subject's first speaker. */
  readonly first: Uint32Array
}

interface SpeakerPage {
  readonly ids: Uint8Array
  /** The subject at each place; `NONE` if the place is free. */
  readonly subject: Uint32Array
  /** The next place of the same subject. For a free place, the next free place. */
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
  /** The ids by subject number; null for a free number. */
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

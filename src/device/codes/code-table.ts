/**
 * The codes of one window and their speakers, in a hash table. It has open addressing (linear
 * probing) in two typed arrays. A code is the output of a MAC, so it is its own hash.
 */

/**
 * The largest part of a table that may be full. A look-up that finds nothing then passes about a
 * dozen neighbours.
 */
const LOAD = 0.8

export interface CodeTable {
  /** Returns how many more codes the table has room for. */
  room(): number
  /**
   * Enters a speaker with a code. A repetition changes nothing. The caller must make sure that
   * there is room.
   */
  enter(code: number, speaker: number): void
  /**
   * Returns the speakers who may have a code. Only 32 of its 36 bits are stored, and no entry is
   * ever removed, so the caller must compute the code of each again.
   */
  find(code: number): number[]
  clear(): void
}

/** Creates an empty table for at least so many codes. A place takes eight bytes. */
export function newCodeTable(codes: number): CodeTable {
  const size = 2 ** Math.ceil(Math.log2(codes / LOAD))
  const tags = new Uint32Array(size)
  /** One more than the speaker's number; 0 is a free place. */
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

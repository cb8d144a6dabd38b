/**
 * Searches for secrets in places where they must not be: each in every likely encoding, also
 * inside text that was encoded again.
 */

/** A secret to search for, in one encoding. */
export interface Needle {
  /** Its name and its encoding, without the secret itself. */
  readonly what: string
  readonly bytes: Buffer
}

const text = (what: string, value: string): Needle => ({ what, bytes: Buffer.from(value) })

/**
 * Returns the base64 of bytes inside other bytes: one text for each offset of the three-byte
 * groups, without the characters at both ends that depend on the neighbours.
 */
function within(bytes: Buffer, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString(encoding)
    const whole = Math.floor(((before + bytes.length) * 8) / 6)
    return encoded.slice(Math.ceil((before * 8) / 6), whole)
  })
}

/** Returns the needles of a secret of bytes, in every encoding. */
export function encodings(name: string, bytes: Uint8Array): Needle[] {
  const own = Buffer.from(bytes)
  const reversed = Buffer.from(own.toReversed())
  const hex = own.toString('hex')
  const backwards = hex.split('').toReversed().join('')
  const decimals = [...own]
  return [
    { what: `${name}, raw`, bytes: own },
    { what: `${name}, raw, reversed`, bytes: reversed },
    ...[hex, reversed.toString('hex'), backwards].flatMap((one, i) => {
      const how = ['hex', 'hex, reversed by bytes', 'hex, reversed by digits'][i]
      return [text(`${name}, ${how}`, one), text(`${name}, ${how}, upper`, one.toUpperCase())]
    }),
    ...(['base64', 'base64url'] as const).flatMap((encoding) =>
      within(own, encoding).map((one, i) => text(`${name}, ${encoding} at ${i}`, one)),
    ),
    ...[',', ', ', ' '].map((gap) => text(`${name}, decimal by "${gap}"`, decimals.join(gap))),
    text(`${name}, one number`, BigInt(`0x${hex}`).toString()),
  ]
}

/**
 * Returns the needles of three words: as words and as the numbers that they encode.
 * @param words one string, single spaces
 * @param indices of the three, 12 bits each
 */
export function spoken(name: string, words: string, indices: readonly number[]): Needle[] {
  const three = words.split(' ')
  const number = indices.reduce((sum, index) => sum * 4096 + index, 0)
  return [
    ...[' ', '-', '', ',', ', ', '","', '", "', '+', '%20', '_'].map((gap) =>
      text(`${name}, words by '${gap}'`, three.join(gap)),
    ),
    // With brackets or without.
    ...[',', ', ', ' '].map((gap) => text(`${name}, indices by "${gap}"`, indices.join(gap))),
    text(`${name}, number`, String(number)),
    text(`${name}, number in hex`, number.toString(16).padStart(9, '0')),
    text(`${name}, number in hex, upper`, number.toString(16).padStart(9, '0').toUpperCase()),
  ]
}

/** Yields bytes, and everything in them that may be base64 or hex, decoded. */
function* unwrapped(bytes: Buffer, depth: number): Generator<Buffer> {
  yield bytes
  if (depth === 0) return
  for (const [run] of bytes.toString('latin1').matchAll(/[\w+/-]{24,}/g)) {
    // Buffer accepts both alphabets, and skips other characters.
    yield* unwrapped(Buffer.from(run, 'base64'), depth - 1)
    if (/^[0-9a-f]+$/i.test(run)) yield* unwrapped(Buffer.from(run, 'hex'), depth - 1)
  }
}

/** Indexes the needles by their first four bytes. */
function indexed(needles: readonly Needle[]): ReadonlyMap<number, readonly Needle[]> {
  const byStart = new Map<number, Needle[]>()
  for (const needle of needles) {
    const start = needle.bytes.readUInt32BE(0)
    byStart.set(start, [...(byStart.get(start) ?? []), needle])
  }
  return byStart
}

/**
 * Searches for needles of four bytes and more.
 * @param depth the number of nested encodings to decode
 * @returns the names of the needles that were found, each once, in their order
 */
export function found(
  needles: readonly Needle[],
  haystacks: Iterable<Buffer>,
  depth: number,
): string[] {
  const byStart = indexed(needles)
  const hits = new Set<Needle>()
  for (const haystack of haystacks)
    for (const bytes of unwrapped(haystack, depth)) {
      let start = 0
      for (let at = 0; at < bytes.length; at++) {
        start = ((start << 8) | (bytes[at] as number)) >>> 0
        const candidates = at < 3 ? undefined : byStart.get(start)
        for (const needle of candidates ?? []) {
          const [from, to] = [at - 3, at - 3 + needle.bytes.length]
          if (bytes.subarray(from, to).equals(needle.bytes)) hits.add(needle)
        }
      }
    }
  return needles.filter((needle) => hits.has(needle)).map(({ what }) => what)
}

/**
 * Looking for secrets where they must not be: each in every encoding that somebody may have written it in, through texts that were
 * encoded once more.
 */

/** Something to look for, as it would stand there. */
export interface Needle {
  /** What it is, and in which encoding; the secret itself is not told. */
  readonly what: string
  readonly bytes: Buffer
}

const text = (what: string, value: string): Needle => ({ what, bytes: Buffer.from(value) })

/**
 * Base64 of bytes that stand somewhere within others: by where the three-byte groups begin, less the characters at both ends that
 * neighbours change.
 */
function within(bytes: Buffer, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString(encoding)
    const whole = Math.floor(((before + bytes.length) * 8) / 6)
    return encoded.slice(Math.ceil((before * 8) / 6), whole)
  })
}

/** A secret of bytes, in every encoding. */
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
 * Three words of a minute, as words and as what they are made from.
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
    // Within brackets or without.
    ...[',', ', ', ' '].map((gap) => text(`${name}, indices by "${gap}"`, indices.join(gap))),
    text(`${name}, number`, String(number)),
    text(`${name}, number in hex`, number.toString(16).padStart(9, '0')),
    text(`${name}, number in hex, upper`, number.toString(16).padStart(9, '0').toUpperCase()),
  ]
}

/** Whatever may be base64 or hex of something, decoded, and what is in that. */
function* unwrapped(bytes: Buffer, depth: number): Generator<Buffer> {
  yield bytes
  if (depth === 0) return
  for (const [run] of bytes.toString('latin1').matchAll(/[\w+/-]{24,}/g)) {
    // Buffer reads both alphabets, and skips what belongs to neither.
    yield* unwrapped(Buffer.from(run, 'base64'), depth - 1)
    if (/^[0-9a-f]+$/i.test(run)) yield* unwrapped(Buffer.from(run, 'hex'), depth - 1)
  }
}

/** The needles by their first four bytes. */
function indexed(needles: readonly Needle[]): ReadonlyMap<number, readonly Needle[]> {
  const byStart = new Map<number, Needle[]>()
  for (const needle of needles) {
    const start = needle.bytes.readUInt32BE(0)
    byStart.set(start, [...(byStart.get(start) ?? []), needle])
  }
  return byStart
}

/**
 * Look for needles of four bytes and more.
 * @param depth how often what is encoded is decoded
 * @returns what was found, each once, in the order of the needles
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

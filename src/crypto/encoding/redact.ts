/**
 * What looks like a secret, cut out of a text: tokens, what follows the name of an authentication scheme, signed structures,
 * passwords in URLs, codes, keys and spoken words. It errs on the side of cutting: what is left is for reading, not for parsing.
 */
import { isWord } from '../words.ts'

const CUT = '[redacted]'

/**
 * Each takes a time that grows with the text and no faster, since callers choose what is in it: one that may run long begins only
 * where a run begins, and looks back over a few spaces at most.
 */
const SECRETS: readonly RegExp[] = [
  // The longest first: another rule would cut a piece out of the middle, and leave the ends.
  /(?<![\w-])(?:eyJ[\w-]*|[\w-]{20,})\.[\w-]{8,}\.[\w-]{8,}/g, // compact JWS: no name of a host is like that
  /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,}={1,2}/g, // base64
  /[\w-]{43,}/g, // 32 bytes and more in base64url or hex
  /cs[dm]_[0-9A-Za-z]+/g, // API tokens
  /(?<=(?:Bearer|DPoP) {1,4})[^\s"\\]+/gi, // RFC 6750, RFC 9449; up to the quote that ends a text in a line of JSON
  /(?<=\b(?:Basic|Negotiate) {1,4})(?=\S{0,100}[A-Z\d])[\w+/-]{8,}=*/g, // RFC 7617, RFC 4559
  /(?<=\b(?:authorization|cookie)(?:\\?")? {0,4}[:=] {0,4}(?:\\?")?)[^\s"\\][^"\\\r\n]*/gi, // whatever the scheme
  /(?<=:\/\/)[^\s/?#"\\]+(?=@)/g, // RFC 3986 section 3.2.1
  /\beyJ[\w-]{8,}(?:\.[\w-]*)*/g, // and what is left of one: base64url of {"
  /\b[0-9A-Za-z]{4}(?:-[0-9A-Za-z]{4}){3}\b/g, // enrolment codes, as shown and as typed
  /\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[0-9A-Za-z]{16}\b/g,
  /(?<=#)[\w-]{20,}/g, // link fragments carry keys
  /\bsk-[\w-]{8,}/g, // as endpoints of models name their keys
]

/** As many as prove who speaks. */
const SPOKEN = 3
const RUN = /\b[a-z]{4,9}(?:[ ,+-]{1,2}[a-z]{4,9}){2,}\b/gi

/** A run of words without those that somebody may have said: three and more of the list, one after the other. */
function silenced(run: string): string {
  // Words at even places, what separates them between.
  const parts = run.split(/([ ,+-]+)/)
  const isSpoken = (at: number) => at < parts.length && isWord((parts[at] as string).toLowerCase())
  const said: string[] = []
  for (let start = 0; start < parts.length;) {
    let end = start
    while (isSpoken(end)) end += 2
    const isCut = (end - start) / 2 >= SPOKEN
    // What separates the last of them from the next stays.
    if (isCut) said.push(CUT, ...parts.slice(end - 1, end))
    else said.push(...parts.slice(start, (end = Math.max(end, start + 2))))
    start = end
  }
  return said.join('')
}

/** The text with tokens, codes, keys and passwords cut out, words left: for what people read. */
export const withoutKeys = (text: string): string =>
  SECRETS.reduce((rest, secret) => rest.replace(secret, CUT), text)

/** The text with everything that looks like a secret cut out. */
export const redact = (text: string): string => withoutKeys(text).replace(RUN, silenced)

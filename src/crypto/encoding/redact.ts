/**
 * Removes likely secrets from a text. These are tokens, credentials after the name of an
 * authentication scheme, signed structures, passwords in URLs, codes, keys and spoken words. If
 * in doubt it removes. The result is for reading, not for parsing.
 */
import { isWord } from '../words.ts'

/** Replaces a secret. */
export const CUT = '[redacted]'

/**
 * Each takes time linear in the text, since callers choose its content. An expression that may
 * run long begins only where a run begins, and looks back over a few spaces at most.
 */
const SECRETS: readonly RegExp[] = [
  // The longest first: another rule would remove a piece from the middle and leave the ends.
  // Compact JWS: no host name has this form.
  /(?<![\w-])(?:eyJ[\w-]*|[\w-]{20,})\.[\w-]{8,}\.[\w-]{8,}/g,
  /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,}={1,2}/g, // base64
  /[\w-]{43,}/g, // 32 bytes and more in base64url or hex
  /cs[dm]_[0-9A-Za-z]+/g, // API tokens
  // RFC 6750, RFC 9449; up to the quote that ends a text in a line of JSON.
  /(?<=(?:Bearer|DPoP) {1,4})[^\s"\\]+/gi,
  /(?<=\b(?:Basic|Negotiate) {1,4})(?=\S{0,100}[A-Z\d])[\w+/-]{8,}=*/g, // RFC 7617, RFC 4559
  // Any scheme.
  /(?<=\b(?:authorization|cookie)(?:\\?")? {0,4}[:=] {0,4}(?:\\?")?)[^\s"\\][^"\\\r\n]*/gi,
  /(?<=:\/\/)[^\s/?#"\\]+(?=@)/g, // RFC 3986 section 3.2.1
  /\beyJ[\w-]{8,}(?:\.[\w-]*)*/g, // the rest of a JWS: base64url of {"
  /\b[0-9A-Za-z]{4}(?:-[0-9A-Za-z]{4}){3}\b/g, // enrolment codes, as displayed and as typed
  /\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[0-9A-Za-z]{16}\b/g,
  /(?<=#)[\w-]{20,}/g, // link fragments carry keys
  /\bsk-[\w-]{8,}/g, // API keys of model endpoints
]

/** The number of words that prove the speaker. */
const SPOKEN = 3
const RUN = /\b[a-z]{4,9}(?:[ ,+-]{1,2}[a-z]{4,9}){2,}\b/gi

/** Returns a run of words without spoken ones: three or more consecutive words of the list. */
function silenced(run: string): string {
  // Words are at even places, their separators between.
  const parts = run.split(/([ ,+-]+)/)
  const isSpoken = (at: number) => at < parts.length && isWord((parts[at] as string).toLowerCase())
  const said: string[] = []
  for (let start = 0; start < parts.length;) {
    let end = start
    while (isSpoken(end)) end += 2
    const isCut = (end - start) / 2 >= SPOKEN
    // The separator between the last removed word and the next word stays.
    if (isCut) said.push(CUT, ...parts.slice(end - 1, end))
    else said.push(...parts.slice(start, (end = Math.max(end, start + 2))))
    start = end
  }
  return said.join('')
}

/**
 * Returns the text without tokens, codes, keys and passwords, but with its words, for display.
 */
export const withoutKeys = (text: string): string =>
  SECRETS.reduce((rest, secret) => rest.replace(secret, CUT), text)

/** Returns the text without all likely secrets. */
export const redact = (text: string): string => withoutKeys(text).replace(RUN, silenced)

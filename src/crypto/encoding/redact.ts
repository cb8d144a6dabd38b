/**
 * Removes likely secrets from a text.
 *
 * These are tokens, credentials after the name of an authentication scheme, signed structures,
 * passwords in URLs, codes, keys and spoken words. If in doubt, a text is removed. The result is
 * for reading, not for parsing.
 */
import { isWord } from '../words.ts'

/** The text that replaces a secret. */
export const CUT = '[redacted]'

/**
 * Each expression must run in time linear in the text, because the text can be chosen by a caller.
 *
 * An expression for a long run can begin only at the start of the run, and looks back over at most
 * a few spaces.
 */
const SECRETS: readonly RegExp[] = [
  // The longest secrets come first. Otherwise another expression would remove a piece from the
  // middle and leave the ends. Compact JWS: the lengths are chosen so that no host name matches.
  /(?<![\w-])(?:eyJ[\w-]*|[\w-]{20,})\.[\w-]{8,}\.[\w-]{8,}/g,
  /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,}={1,2}/g, // base64
  /[\w-]{43,}/g, // 32 bytes and more in base64url or hex
  /cs[dm]_[0-9A-Za-z]+/g, // API tokens
  // RFC 6750, RFC 9449; up to the quote that ends a string in a line of JSON
  /(?<=(?:Bearer|DPoP) {1,4})[^\s"\\]+/gi,
  /(?<=\b(?:Basic|Negotiate) {1,4})(?=\S{0,100}[A-Z\d])[\w+/-]{8,}=*/g, // RFC 7617, RFC 4559
  // Credentials of any scheme in a header field.
  /(?<=\b(?:authorization|cookie)(?:\\?")? {0,4}[:=] {0,4}(?:\\?")?)[^\s"\\][^"\\\r\n]*/gi,
  /(?<=:\/\/)[^\s/?#"\\]+(?=@)/g, // RFC 3986 section 3.2.1
  /\beyJ[\w-]{8,}(?:\.[\w-]*)*/g, // the rest of a JWS: base64url of {"
  /\b[0-9A-Za-z]{4}(?:-[0-9A-Za-z]{4}){3}\b/g, // enrolment codes, with and without hyphens
  /\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[0-9A-Za-z]{16}\b/g,
  /(?<=#)[\w-]{20,}/g, // URL fragments, which contain keys
  /\bsk-[\w-]{8,}/g, // API keys of model endpoints
]

/** The number of words in a code. */
const SPOKEN = 3
const RUN = /\b[a-z]{4,9}(?:[ ,+-]{1,2}[a-z]{4,9}){2,}\b/gi

/** Returns a run of words in which every three or more consecutive list words are removed. */
function silenced(run: string): string {
  // Even indices are words; odd indices are the separators between them.
  const parts = run.split(/([ ,+-]+)/)
  const isSpoken = (at: number) => at < parts.length && isWord((parts[at] as string).toLowerCase())
  const output: string[] = []
  for (let start = 0; start < parts.length;) {
    let end = start
    while (isSpoken(end)) end += 2
    const isCut = (end - start) / 2 >= SPOKEN
    // The separator between the last removed word and the next word is kept.
    if (isCut) output.push(CUT, ...parts.slice(end - 1, end))
    else output.push(...parts.slice(start, (end = Math.max(end, start + 2))))
    start = end
  }
  return output.join('')
}

/**
 * Returns the text with tokens, codes, keys and passwords removed. Spoken words stay, for display.
 */
export const withoutKeys = (text: string): string =>
  SECRETS.reduce((rest, secret) => rest.replace(secret, CUT), text)

/** Returns the text with all likely secrets removed. */
export const redact = (text: string): string => withoutKeys(text).replace(RUN, silenced)

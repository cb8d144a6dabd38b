/**
 * Quoting of text by other people in a mail. Quoted text cannot pass for text of the server, and
 * mail programs make no link of it. All such text goes through one of these functions: `quoted`
 * for a name, `quotedText` for a message, `addressText` for an address. Only feedback is not
 * changed, because the operator asked for it.
 */

/** Spaces and characters that are not displayed, all format characters included. */
const SPACES = /[\p{C}\p{Z}\s]+/gu

/** Returns the text as one line, in a form that mail programs do not make a link of. */
const unlinked = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(SPACES, ' ')
    .replaceAll(/["<>]/g, "'")
    // Also full stops, colons and similar characters of other scripts: some programs accept them
    // in an address.
    .replaceAll(/[.:/@\\\u3002\uff0e\uff0f\uff1a\uff20\uff61](?=\S)/g, '$& ')
    .trim()

const MARK = '    | '
const WIDTH = 68
const MOST_LINES = 20

/** Wraps words into lines of limited length; a longer word is cut. */
function wrapped(line: string): string[] {
  const lines: string[] = []
  let rest = Array.from(line)
  while (rest.length > WIDTH) {
    const space = rest.lastIndexOf(' ', WIDTH)
    const end = space > 0 ? space : WIDTH
    lines.push(rest.slice(0, end).join(''))
    rest = rest.slice(space > 0 ? end + 1 : end)
  }
  return [...lines, rest.join('')]
}

/**
 * Returns a text of several lines, each with a mark before it. Cut to a number of lines that
 * keeps the following text visible.
 */
export function quotedText(text: string): string {
  const lines = text
    .trim()
    .split(/\s*\n\s*|\s*\r\s*/)
    .flatMap((line) => wrapped(unlinked(line)))
  const shown = lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), '…'] : lines
  return shown.map((line) => `${MARK}${line}\n`).join('')
}

/** The maximum length of a name inside a sentence of the server. */
const LONGEST_NAME = 60

/** Returns a line in quotes, cut to the maximum length. */
function short(line: string): string {
  const characters = Array.from(line)
  return characters.length <= LONGEST_NAME
    ? `"${line}"`
    : `"${characters.slice(0, LONGEST_NAME - 1).join('')}…"`
}

/**
 * Returns another person's text for a mail: one short quoted line that mail programs make no link
 * of.
 */
export const quoted = (text: string): string => short(unlinked(text))

/** An ordinary mailbox: letters, digits and few marks. */
const PLAIN_ADDRESS = /^(?!www\.)[a-z0-9][a-z0-9._+-]*@[a-z0-9.-]+$/i

/**
 * Returns the address of another person. RFC 5321 section 4.1.2 allows
 * `http://evil.example/?@example.org`, part of which mail programs make a link of: such an
 * address is quoted like a name.
 */
export const addressText = (address: string): string =>
  PLAIN_ADDRESS.test(address) ? address : quoted(address)

/**
 * Returns a name for texts outside of mail, such as notifications. It is one short line, and
 * unchanged otherwise.
 */
export const plainName = (text: string): string =>
  short(text.toWellFormed().replaceAll(SPACES, ' ').replaceAll('"', "'").trim())

/** Returns the host by which people recognise a server. */
export const hostOf = (publicUrl: string): string => new URL(publicUrl).host

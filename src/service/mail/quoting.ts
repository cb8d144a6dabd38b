/**
 * What other people wrote, as it stands in a mail: it cannot pass for the server's own words, and
 * no mail program makes a link of it. Every text of another person goes through one of these:
 * `quoted` for a name, `quotedText` for a message, `addressText` for an address. Feedback alone
 * stands as it was written: the operator asked for it.
 */

/** One line of it, without a place to tap or click. */
export const unlinked = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ')
    .replaceAll(/["<>]/g, "'")
    // Full stops, colons and the like of other scripts too: some programs take them for those of an address.
    .replaceAll(/[.:/@\\\u3002\uff0e\uff0f\uff1a\uff20\uff61](?=\S)/g, '$& ')
    .trim()

const MARK = '    | '
const WIDTH = 68
const MOST_LINES = 20

/** Words in lines of at most so many characters; a longer word is cut. */
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

/** A text of several lines, each with a mark before it, and not so many that what follows is out of sight. */
export function quotedText(text: string): string {
  const lines = text
    .trim()
    .split(/\s*\n\s*|\s*\r\s*/)
    .flatMap((line) => wrapped(unlinked(line)))
  const shown = lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), '…'] : lines
  return shown.map((line) => `${MARK}${line}\n`).join('')
}

/** The most of a name that goes into a sentence of ours. */
const LONGEST_NAME = 60

/** In quotes, and not long. */
function short(line: string): string {
  const characters = Array.from(line)
  return characters.length <= LONGEST_NAME
    ? `"${line}"`
    : `"${characters.slice(0, LONGEST_NAME - 1).join('')}…"`
}

/** What somebody wrote, in somebody else's mailbox: one line, not long, and nothing that a mail program makes a link of. */
export const quoted = (text: string): string => short(unlinked(text))

/** A mailbox as people know them: letters, digits and few marks. */
const PLAIN_ADDRESS = /^(?!www\.)[a-z0-9][a-z0-9._+-]*@[a-z0-9.-]+$/i

/**
 * The address of another person. RFC 5321 section 4.1.2 allows `http://evil.example/?@example.org`,
 * part of which mail programs make a link of: such an address is quoted like a name.
 */
export const addressText = (address: string): string =>
  PLAIN_ADDRESS.test(address) ? address : quoted(address)

/**
 * A name where no mail program reads it, as in a notification: as it was written, in one line that
 * is not long.
 */
export const named = (text: string): string =>
  short(
    text
      .toWellFormed()
      .replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ')
      .replaceAll('"', "'")
      .trim(),
  )

/** What people know a server by. */
export const hostOf = (publicUrl: string): string => new URL(publicUrl).host

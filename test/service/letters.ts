/** Parses mail as its reader sees it (RFC 5322, RFC 2045), as far as the server writes it. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../until.ts'

export interface Letter {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly headers: ReadonlyMap<string, string>
}

const quotedPrintable = (text: string) => {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Decodes encoded words of RFC 2047, in UTF-8. */
const word = (text: string) =>
  text.replace(/=\?UTF-8\?([QB])\?(.*?)\?=/g, (_, kind: string, body: string) =>
    kind === 'B'
      ? Buffer.from(body, 'base64').toString('utf8')
      : quotedPrintable(body.replaceAll('_', ' ')),
  )

export function letterOf(bytes: Buffer): Letter {
  const source = bytes.toString('latin1')
  const end = source.indexOf('\r\n\r\n')
  const lines = source
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/s.exec(line) ?? []
      return [name.toLowerCase(), word(value)] as const
    }),
  )
  const body = source.slice(end + 4)
  const encoding = headers.get('content-transfer-encoding') ?? '7bit'
  const decoded =
    encoding === 'quoted-printable'
      ? quotedPrintable(body)
      : encoding === 'base64'
        ? Buffer.from(body, 'base64').toString('utf8')
        : body
  const of = (name: string) => headers.get(name) ?? ''
  const text = decoded.replaceAll('\r\n', '\n')
  return { from: of('from'), to: of('to'), subject: of('subject'), text, headers }
}

/**
 * Waits for the first letter of a mail folder to an address with this text, and returns it. Some
 * letters are sent in the background.
 */
export const letterIn = (dir: string, address: string, text: RegExp): Promise<Letter> =>
  until(`a letter to ${address} with ${text} in ${dir}`, async () =>
    (await lettersIn(dir, address)).find((one) => text.test(one.text)),
  )

/** Returns the letters of a mail folder to an address, in the order of their names. */
export async function lettersIn(dir: string, address: string): Promise<Letter[]> {
  const names = await readdir(dir).catch(() => [])
  const all = names.filter((name) => name.endsWith('.eml')).sort()
  const letters = await Promise.all(
    all.map(async (name) => letterOf(await readFile(join(dir, name)))),
  )
  return letters.filter(({ to }) => to === address)
}

const CODE = /\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}\b/

/** Checks whether a letter has a code; notices have none, and arrive at any time. */
export const hasCode = ({ text }: Letter): boolean => CODE.test(text)

/** Returns the code in a letter. */
export function codeIn({ text }: Letter): string {
  const [code] = CODE.exec(text) ?? []
  if (code === undefined) throw new Error(`no code in: ${text}`)
  return code
}

const CONFIRMATION = /http\S+\/confirm\/\S+/

/** Returns the confirmation link that was mailed to an address. */
export async function confirmationIn(dir: string, address: string): Promise<string> {
  const { text } = await letterIn(dir, address, CONFIRMATION)
  return CONFIRMATION.exec(text)![0]
}

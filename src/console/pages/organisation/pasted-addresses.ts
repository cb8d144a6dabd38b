/** E-mail addresses in any text: lists, mails, columns of a table. */

/** An address found in a text. */
export interface PastedAddress {
  readonly address: string
  /** `invalid`: it has an @ but is no address. `repeated`: it is in the text before. */
  readonly state: 'valid' | 'repeated' | 'invalid'
}

/** The form of an address that the API accepts. */
const LABEL = String.raw`[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?`
const ADDRESS = new RegExp(
  String.raw`^[\w.!#$%&'*+/=?^${'`'}{|}~-]{1,64}@${LABEL}(?:\.${LABEL})*$`,
  'i',
)
const LONGEST = 254

/** Returns the words of a text that contain an @, each once or marked, in their order. */
export function addressesIn(text: string): PastedAddress[] {
  const seen = new Set<string>()
  return text
    .split(/[\s,;<>()[\]"“”„«»|]+/)
    .filter((word) => word.includes('@'))
    .map((word) => word.replace(/^mailto:/i, '').replace(/[.:'’]+$/, ''))
    .map((address) => {
      if (address.length > LONGEST || !ADDRESS.test(address)) return { address, state: 'invalid' }
      const key = address.toLowerCase()
      if (seen.has(key)) return { address, state: 'repeated' }
      seen.add(key)
      return { address, state: 'valid' }
    })
}

/** Ids: a prefix and 26 characters of lower-case Crockford base32 of 16 bytes. */
import { type Bytes, hex, need, unhex } from './bytes.ts'
import { type JsonObject, textAt } from './json.ts'

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
export type Prefix = 'acc' | 'dev' | 'con' | 'gst' | 'stm'

export function idText(prefix: Prefix, id: Bytes): string {
  let rest = BigInt(`0x${hex(id)}`)
  let text = ''
  for (let i = 0; i < 26; i++) {
    text = DIGITS[Number(rest & 31n)]! + text
    rest >>= 5n
  }
  return `${prefix}_${text}`
}

/** Returns the 16 bytes of an id, or null if the text is no id with this prefix. */
export function idBytes(prefix: Prefix, text: string): Bytes | null {
  const [found, digits, ...more] = text.split('_')
  if (found !== prefix || digits === undefined || more.length > 0) return null
  if (digits.length !== 26 || digits[0]! > '7') return null
  let value = 0n
  for (const digit of digits) {
    const index = DIGITS.indexOf(digit)
    if (index < 0) return null
    value = (value << 5n) | BigInt(index)
  }
  return unhex(value.toString(16).padStart(32, '0'))
}

export function accountAt(object: JsonObject, name: string): string {
  const text = textAt(object, name)
  need(idBytes('acc', text) !== null, 'not_an_account')
  return text
}
export function deviceAt(object: JsonObject, name: string): string {
  const text = textAt(object, name)
  need(idBytes('dev', text) !== null, 'bad_value')
  return text
}
export function connectionAt(object: JsonObject, name: string): string {
  const text = textAt(object, name)
  need(idBytes('con', text) !== null, 'bad_value')
  return text
}

/** Returns the bytes of an id that was parsed before. */
export function raw(text: string): Bytes {
  const found = idBytes(text.slice(0, 3) as Prefix, text)
  need(found !== null, 'bad_value')
  return found
}

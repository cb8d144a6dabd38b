/**
 * JSON as signed payloads need it (RFC 8259, narrowed): a name occurs once in an object, numbers
 * are plain integers. `JSON.parse` keeps the last of two equal names and forgets how a number was
 * written, and two readers that differ there read two different entries under one signature.
 */
import { quoted } from './quoted.ts'
import { Refusal } from './refusal.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
/** A map, so that `__proto__` is a name like any other. */
export type JsonObject = ReadonlyMap<string, Json>

/** Deeper than any structure of the protocol; keeps hostile nesting off the stack. */
const DEEPEST = 8

const SPACE = /[ \t\n\r]*/y
// oxlint-disable-next-line no-control-regex -- RFC 8259 section 7: control characters are escaped.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const NUMBER = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const INTEGER = /^(?:0|-?[1-9][0-9]*)$/
const WORD = /true|false|null/y

/**
 * Bytes in, the value they spell out. Throws `bad_utf8`, `bad_json` (also for a byte order mark),
 * `duplicate_member`, and `bad_value` for a number that is not a plain integer within ±(2^53 − 1).
 */
export function parseJson(bytes: Uint8Array): Json {
  const text = decodeUtf8(bytes)
  let at = 0

  const take = (form: RegExp): string | undefined => {
    form.lastIndex = at
    const found = form.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  /** A punctuation mark with the white space around it. */
  const mark = (character: string): boolean => {
    take(SPACE)
    if (text[at] !== character) return false
    at += 1
    take(SPACE)
    return true
  }
  const string = (): string => {
    const token = take(STRING)
    if (token === undefined) throw badJson()
    return JSON.parse(token) as string
  }

  const value = (depth: number): Json => {
    if (depth > DEEPEST) throw badJson()
    if (mark('{')) return object(depth)
    if (mark('[')) return array(depth)
    if (text[at] === '"') return string()
    const word = take(WORD)
    if (word !== undefined) return word === 'null' ? null : word === 'true'
    const number = take(NUMBER)
    if (number === undefined) throw badJson()
    if (!INTEGER.test(number) || !Number.isSafeInteger(Number(number))) {
      throw new Refusal('bad_value', `not a plain integer: ${number.slice(0, 40)}`)
    }
    return Number(number)
  }

  const object = (depth: number): JsonObject => {
    const members = new Map<string, Json>()
    if (mark('}')) return members
    do {
      const name = string()
      if (members.has(name)) throw new Refusal('duplicate_member', `two members: ${quoted(name)}`)
      if (!mark(':')) throw badJson()
      members.set(name, value(depth + 1))
    } while (mark(','))
    if (!mark('}')) throw badJson()
    return members
  }

  const array = (depth: number): Json[] => {
    const items: Json[] = []
    if (mark(']')) return items
    do items.push(value(depth + 1))
    while (mark(','))
    if (!mark(']')) throw badJson()
    return items
  }

  take(SPACE)
  const result = value(0)
  take(SPACE)
  if (at !== text.length) throw badJson()
  return result
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    // RFC 8259 section 8.1 lets a reader skip a byte order mark; kept, it is no JSON.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Refusal('bad_utf8', 'not UTF-8')
  }
}

const badJson = () => new Refusal('bad_json', 'not one JSON value')

/**
 * A JSON parser for signed payloads: a strict subset of RFC 8259.
 *
 * A name must occur only once in an object, and numbers must be plain integers. `JSON.parse` is not
 * strict enough: it keeps the last of two equal names and loses the spelling of a number. Readers
 * that resolve such cases differently would read two different entries under one signature.
 */
import { inMessage } from './quoted.ts'
import { Refusal } from '../refusal.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
/** A map, so that `__proto__` is an ordinary name. */
export type JsonObject = ReadonlyMap<string, Json>

/**
 * The maximum nesting level of an object or array; the root is level 0.
 *
 * No structure of the protocol is that deep. The limit keeps malicious input from exhausting the
 * stack.
 */
const DEEPEST = 8

const SPACE = /[ \t\n\r]*/y
// oxlint-disable-next-line no-control-regex -- RFC 8259 section 7: controls are escaped.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const DIGIT = /[0-9]/y
const INTEGER = /^(?:0|-?[1-9][0-9]*)$/
const WORD = /true|false|null/y

/**
 * Parses the bytes of one JSON object. Every structure of the protocol is one object.
 * @throws Refusal `bad_utf8`; `bad_json`, also if the root is not an object or a byte order mark
 * precedes it; `duplicate_member`; `too_deep`; `lone_surrogate` for a string or name that is not
 * well-formed Unicode; `bad_value` for a number that is not a plain integer within ±(2^53 − 1)
 */
export function parseJson(bytes: Uint8Array): JsonObject {
  const text = decodeUtf8(bytes)
  let at = 0

  const take = (form: RegExp): string | undefined => {
    form.lastIndex = at
    const found = form.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const skipSpace = () => {
    // Signed structures normally have no white space, so the expression rarely has to run.
    if (text.charCodeAt(at) <= 0x20) take(SPACE)
  }
  /**
   * Consumes a punctuation mark and the white space around it. Returns whether the mark was there.
   */
  const mark = (character: string): boolean => {
    skipSpace()
    if (text[at] !== character) return false
    at += 1
    skipSpace()
    return true
  }
  const string = (): string => {
    const token = take(STRING)
    if (token === undefined) throw badJson()
    const characters = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1)
    if (!characters.isWellFormed()) throw new Refusal('lone_surrogate', 'a lone surrogate')
    return characters
  }

  /** Consumes the opening bracket of an object or array. Returns whether the bracket was there. */
  const opens = (bracket: '{' | '[', level: number): boolean => {
    if (!mark(bracket)) return false
    if (level > DEEPEST) throw new Refusal('too_deep', `nested deeper than ${DEEPEST} levels`)
    return true
  }

  const value = (level: number): Json => {
    if (opens('{', level)) return object(level)
    if (opens('[', level)) return array(level)
    if (text[at] === '"') return string()
    const word = take(WORD)
    if (word !== undefined) return word === 'null' ? null : word === 'true'
    const number = take(NUMBER)
    // RFC 8259 section 6: nothing follows a leading zero in the integer part, so a digit after it
    // is invalid.
    if (number === undefined || take(DIGIT) !== undefined) throw badJson()
    if (!INTEGER.test(number) || !Number.isSafeInteger(Number(number))) {
      throw new Refusal('bad_value', `not a plain integer: ${number.slice(0, 40)}`)
    }
    return Number(number)
  }

  const object = (level: number): JsonObject => {
    const members = new Map<string, Json>()
    if (mark('}')) return members
    do {
      const name = string()
      if (members.has(name))
        throw new Refusal('duplicate_member', `duplicate member: ${inMessage(name)}`)
      if (!mark(':')) throw badJson()
      members.set(name, value(level + 1))
    } while (mark(','))
    if (!mark('}')) throw badJson()
    return members
  }

  const array = (level: number): Json[] => {
    const items: Json[] = []
    if (mark(']')) return items
    do items.push(value(level + 1))
    while (mark(','))
    if (!mark(']')) throw badJson()
    return items
  }

  skipSpace()
  const result = value(0)
  skipSpace()
  if (at !== text.length || !(result instanceof Map)) throw badJson()
  return result
}

/**
 * RFC 8259 section 8.1 allows a reader to ignore a byte order mark. `ignoreBOM` keeps it in the
 * text, so the parser rejects it.
 */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new Refusal('bad_utf8', 'not UTF-8')
  }
}

const badJson = () => new Refusal('bad_json', 'the text must be exactly one JSON object')

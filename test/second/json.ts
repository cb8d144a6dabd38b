/** JSON by "Signed structures": strict, and no deeper than eight levels. */
import { type Bytes, fromBase64url, need, Refused } from './bytes.ts'

export type Json = string | number | boolean | null | readonly Json[] | JsonObject
/** The members of an object; `proto`-like names are ordinary names here. */
export type JsonObject = ReadonlyMap<string, Json>

const DEEPEST = 8

/**
 * Parses UTF-8 JSON with an object as its root.
 * @throws Refused `bad_utf8`, `bad_json`, `bad_value`, `duplicate_member`, `lone_surrogate`,
 *   `too_deep`
 */
export function parseJson(data: Bytes): JsonObject {
  const text = decodeUtf8(data)
  let at = 0

  const root = value(0)
  space()
  need(at === text.length && root instanceof Map, 'bad_json')
  return root as JsonObject

  function space(): void {
    while (at < text.length && ' \t\n\r'.includes(text[at]!)) at++
  }

  function value(level: number): Json {
    space()
    const first = text[at]
    if (first === '{' || first === '[') {
      need(level <= DEEPEST, 'too_deep')
      return first === '{' ? object(level) : array(level)
    }
    if (first === '"') return string()
    for (const [word, meaning] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const)
      if (text.startsWith(word, at)) {
        at += word.length
        return meaning
      }
    return number()
  }

  function object(level: number): JsonObject {
    const members = new Map<string, Json>()
    at++
    space()
    if (text[at] === '}') {
      at++
      return members
    }
    for (;;) {
      space()
      need(text[at] === '"', 'bad_json')
      const name = string()
      need(!members.has(name), 'duplicate_member')
      space()
      need(text[at++] === ':', 'bad_json')
      members.set(name, value(level + 1))
      if (ends('}')) return members
    }
  }

  function array(level: number): readonly Json[] {
    const items: Json[] = []
    at++
    space()
    if (text[at] === ']') {
      at++
      return items
    }
    for (;;) {
      items.push(value(level + 1))
      if (ends(']')) return items
    }
  }

  /** Reads a comma or the closing bracket. */
  function ends(bracket: string): boolean {
    space()
    const next = text[at++]
    need(next === ',' || next === bracket, 'bad_json')
    return next === bracket
  }

  function string(): string {
    let result = ''
    at++
    for (;;) {
      const next = text[at++]
      need(next !== undefined && next >= ' ', 'bad_json')
      if (next === '"') break
      result += next === '\\' ? escaped() : next
    }
    need(result.isWellFormed(), 'lone_surrogate')
    return result
  }

  function escaped(): string {
    const letter = text[at++]
    if (letter === 'u') {
      const digits = text.slice(at, at + 4)
      need(/^[0-9A-Fa-f]{4}$/.test(digits), 'bad_json')
      at += 4
      return String.fromCharCode(parseInt(digits, 16))
    }
    const index = letter === undefined ? -1 : '"\\/bfnrt'.indexOf(letter)
    need(index >= 0, 'bad_json')
    return '"\\/\b\f\n\r\t'[index]!
  }

  function number(): number {
    const found = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/.exec(text.slice(at))
    if (found === null) throw new Refused('bad_json')
    at += found[0].length
    need(!/[0-9]/.test(text[at] ?? ''), 'bad_json')
    need(/^(?:0|-?[1-9][0-9]*)$/.test(found[0]), 'bad_value')
    const result = Number(found[0])
    need(Number.isSafeInteger(result), 'bad_value')
    return result
  }
}

function decodeUtf8(data: Bytes): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)
  } catch {
    throw new Refused('bad_utf8')
  }
}

/**
 * Requires the members `required`, allows `optional`, and refuses others.
 * Those of `known` belong to other ops: "a member that an op does not use is absent, never null".
 */
export function exactly(
  object: JsonObject,
  required: readonly string[],
  optional: readonly string[] = [],
  known: readonly string[] = [],
): void {
  for (const name of object.keys()) {
    if (required.includes(name) || optional.includes(name)) continue
    if (known.includes(name)) need(object.get(name) !== null, 'bad_value')
    throw new Refused(known.includes(name) ? 'superfluous_member' : 'unknown_member', name)
  }
  for (const name of required) if (!object.has(name)) throw new Refused('missing_member', name)
}

export function objectAt(object: JsonObject, name: string): JsonObject {
  const found = object.get(name)
  need(found instanceof Map, 'bad_value')
  return found as JsonObject
}
export function textAt(object: JsonObject, name: string): string {
  const found = object.get(name)
  need(typeof found === 'string', 'bad_value')
  return found
}
/** Returns an integer 0 … `most`. */
export function countAt(
  object: JsonObject,
  name: string,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  const found = object.get(name)
  need(typeof found === 'number' && found >= 0 && found <= most, 'bad_value')
  return found
}
/** Returns the bytes of base64url with exactly `length` bytes. */
export function bytesAt(object: JsonObject, name: string, length: number): Bytes {
  const found = fromBase64url(textAt(object, name))
  need(found.length === length, 'bad_value')
  return found
}
/** Requires `v: 2`. */
export function versionTwo(object: JsonObject): void {
  need(object.has('v'), 'missing_member')
  need(object.get('v') === 2, 'wrong_version')
}

/**
 * Limits the number of values in JSON from others, and how deeply they are nested.
 *
 * A body of a few megabytes can contain millions of values, which take long to parse and to
 * validate.
 */
import { AppError } from '../errors.ts'

/** The maximum nesting of objects and arrays in the body of a route. */
export const DEEPEST = 32
/** The maximum nesting in a body that another protocol parses. It can wrap the body of a route. */
export const DEEPEST_TEXT = 2 * DEEPEST
/**
 * The maximum number of values and names in a body.
 *
 * No route accepts that many, and this number is parsed in a few milliseconds.
 */
const MOST_VALUES = 50_000

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c]
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]

const tooDeep = (deepest: number) =>
  new AppError('invalid_json', `The body is nested deeper than ${deepest} levels.`)
const tooMany = () =>
  new AppError('invalid_json', `The body has more than ${MOST_VALUES} values. Send fewer at once.`)

/** Returns the number of values in a value, including itself; Infinity if a limit is exceeded. */
function countIn(value: unknown, deepest: number, most: number): number {
  if (typeof value !== 'object' || value === null) return 1
  if (deepest === 0) return Infinity
  let count = 1
  for (const inner of Object.values(value)) {
    count += countIn(inner, deepest - 1, most)
    if (count > most) return Infinity
  }
  return count
}

/** Whether a parsed value has at most `most` values, nested in at most `deepest` levels. */
export const isWithin = (value: unknown, deepest: number, most = MOST_VALUES): boolean =>
  countIn(value, deepest, most) <= most

/**
 * Returns a function that checks one body while its bytes arrive.
 *
 * A body that exceeds a limit is therefore rejected early. The syntax is checked later by the
 * parser.
 * @param deepest the maximum nesting
 * @returns the function, which must be called with the chunks of the body in order; it throws
 * AppError `invalid_json` at the first byte beyond a limit
 */
export function newShapeCheck(deepest = DEEPEST): (bytes: Uint8Array) => void {
  let depth = 0
  let values = 1
  let isText = false
  let isEscaped = false
  return (bytes) => {
    for (const byte of bytes) {
      if (isText) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) isText = false
      } else if (byte === QUOTE) isText = true
      else if (byte === COMMA || byte === COLON) {
        if (++values > MOST_VALUES) throw tooMany()
      } else if (byte === LIST || byte === OBJECT) {
        if (++depth > deepest) throw tooDeep(deepest)
        if (++values > MOST_VALUES) throw tooMany()
      } else if (byte === LIST_END || byte === OBJECT_END) depth--
    }
  }
}

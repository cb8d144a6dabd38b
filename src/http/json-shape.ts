/**
 * Counts the values of a JSON text while its bytes arrive, so that a body that would take long to
 * parse is rejected early: some megabytes can hold millions of values. The parser checks the
 * syntax.
 */
import { AppError } from '../errors.ts'

/** The deepest nesting of objects and arrays that a route accepts in a body. */
export const DEEPEST = 32
/**
 * The most values and names in a body: more than any route accepts, parsed in a few milliseconds.
 */
const MOST_VALUES = 50_000

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c]
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]

const tooDeep = (deepest: number) =>
  new AppError('invalid_json', `The body is nested deeper than ${deepest} levels.`)
const tooMany = () =>
  new AppError('invalid_json', `The body has more than ${MOST_VALUES} values: send fewer at once.`)

/**
 * Creates the check of one body.
 * @param deepest the deepest nesting that is accepted
 * @returns a function called with the chunks of a body in order; it throws AppError invalid_json
 * at the first byte beyond a limit
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

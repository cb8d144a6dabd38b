/** Random texts and JSON, well-formed and not. */
import type { Random } from './random.ts'

/** First and last code points of ranges in which normalisation, case and classes matter. */
const RANGES: readonly (readonly [number, number])[] = [
  [0x20, 0x7e],
  [0x20, 0x7e],
  [0x30, 0x39],
  [0xa0, 0x24f],
  [0x300, 0x36f],
  [0x370, 0x3ff],
  [0x3a3, 0x3a3],
  [0x3c2, 0x3c3],
  [0x400, 0x4ff],
  [0x600, 0x6ff],
  [0x1100, 0x11ff],
  [0x1e00, 0x1fff],
  [0x2000, 0x2070],
  [0x2100, 0x218f],
  [0x2460, 0x24ff],
  [0x3000, 0x30ff],
  [0xac00, 0xad00],
  [0xfb00, 0xfb4f],
  [0xff00, 0xffef],
  [0x10400, 0x1044f],
  [0x1d400, 0x1d7ff],
  [0x1f600, 0x1f64f],
]

/** Returns up to `most` code points; one text in sixteen may hold half a surrogate pair. */
export function randomText(of: Random, most: number): string {
  const length = of.below(most + 1)
  const broken = of.below(16) === 0
  return Array.from({ length }, () => {
    if (broken && of.below(8) === 0) return String.fromCharCode(0xd800 + of.below(0x800))
    const [from, to] = of.pick(RANGES)
    return String.fromCodePoint(from + of.below(to - from + 1))
  }).join('')
}

/** Returns JSON of an object; one in two has one character added, removed or changed. */
export function randomJson(of: Random): string {
  const text = object(of, 0)
  if (of.below(2) === 0) return text
  const at = of.below(text.length + 1)
  const other = of.pick([...Array.from('{}[]:,"\\01-+.eE \t\n\u000bntu\u00a0\ufeffabc'), ''])
  return text.slice(0, at) + other + text.slice(at + of.below(2))
}

function value(of: Random, level: number): string {
  const kind = of.below(level > 9 ? 5 : 8)
  if (kind === 0) return string(of)
  if (kind === 1) return String(of.below(2 ** 31))
  if (kind === 2) return of.pick(['true', 'false', 'null'])
  if (kind === 3)
    return of.pick(['0', '-1', '9007199254740991', '9007199254740992', '1.5', '1e3', '-0', '01'])
  if (kind === 4) return string(of)
  return kind === 5 ? array(of, level) : object(of, level)
}

const space = (of: Random): string => of.pick(['', '', '', ' ', '\n', '\t\r'])
const list = (of: Random, item: () => string): string =>
  Array.from({ length: of.pick([0, 1, 1, 1, 2]) }, () => space(of) + item() + space(of)).join(',')
const array = (of: Random, level: number): string => `[${list(of, () => value(of, level + 1))}]`
const object = (of: Random, level: number): string =>
  `{${list(of, () => `${string(of)}${space(of)}:${value(of, level + 1)}`)}}`

function string(of: Random): string {
  const text = of.below(3) === 0 ? of.pick(['a', 'b', '__proto__']) : randomText(of, 5)
  return of.below(2) === 0
    ? JSON.stringify(text)
    : `"${Array.from(text, (character) => escaped(of, character)).join('')}"`
}
function escaped(of: Random, character: string): string {
  if (!'"\\'.includes(character) && of.below(2) === 0) return character
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

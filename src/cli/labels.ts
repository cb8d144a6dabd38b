/** Lines with a label before each value, for commands that create or show one thing. */
import type { Reachable } from '../api/reachable.ts'
import type { Invocation } from './command.ts'
import { shown } from './table.ts'

/** Values with their labels. A value that is null, undefined or empty is left out. */
export type Labelled = readonly (readonly [label: string, value: string | null | undefined])[]

/** Returns a line for each value, with its label in front. The values begin in one column. */
export function labelledLines(rows: Labelled): string[] {
  const given = rows.flatMap(([label, value]) => (value ? [[label, value] as const] : []))
  const width = Math.max(0, ...given.map(([label]) => label.length))
  return given.map(([label, value]) => `${label.padEnd(width)}  ${shown(value)}`)
}

/** Returns the row that warns about a link that others cannot open; empty for other links. */
export const reachRow = (reachable: Reachable): Labelled[number] => [
  'Opens',
  reachable === 'this_machine' ? 'only on this machine. For others: countersignd publish' : null,
]

/** Why a mail that was answered with `mailed: false` does not arrive. */
export const NO_RELAY =
  'The account server has no mail relay, so the mail lies in its folder for mail.'

/** An answer for people and for scripts. */
export interface LabelledAnswer {
  /** What a script takes from standard output: one line each. */
  readonly bare: string | readonly string[]
  /** The same for a person. */
  readonly rows: Labelled
  /** What only a person needs besides. */
  readonly details?: Labelled
}

/**
 * Prints an answer: at a terminal as labelled lines. Otherwise the bare values go to standard
 * output, so that a script can take them, and the details to standard error.
 */
export function printLabelled(
  { io, print, say }: Pick<Invocation, 'io' | 'print' | 'say'>,
  answer: unknown,
  { bare, rows, details = [] }: LabelledAnswer,
): void {
  if (io.stdout.isTTY === true) {
    print(answer, labelledLines([...rows, ...details]))
    return
  }
  print(answer, bare)
  const more = labelledLines(details)
  if (more.length > 0) say(more.join('\n'))
}

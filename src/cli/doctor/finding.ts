/** What a check of `doctor` is, and what it says. Nothing it finds out changes anything. */
import { withoutKeys } from '../../crypto/encoding/redact.ts'

export type FindingState = 'ok' | 'warn' | 'fail'

/** One line of the report. */
export interface Finding {
  readonly state: FindingState
  readonly name: string
  readonly found: string
  /** What to do, as a command where there is one; null for what is well. */
  readonly remedy: string | null
}

/** Nobody copies a secret out of a report: what was read elsewhere loses what looks like one. */
const finding = (
  state: FindingState,
  name: string,
  found: string,
  remedy: string | null,
): Finding => ({ state, name, found: withoutKeys(found), remedy })

export const ok = (name: string, found: string): Finding => finding('ok', name, found, null)
export const warn = (name: string, found: string, remedy: string): Finding =>
  finding('warn', name, found, remedy)
export const fail = (name: string, found: string, remedy: string): Finding =>
  finding('fail', name, found, remedy)

/** The message of whatever was thrown, in one line. */
export const said = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ')

/** A text as one word of a shell: as it is, where it means nothing else there. */
export const shellWord = (text: string): string =>
  /^[\w.:/[\]-]+$/.test(text) ? text : quoted(text)

/** An argument of a shell, as it is copied. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** A size for people. */
export function sizeOf(bytes: number): string {
  const unit = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1)
  const value = bytes / 1000 ** unit
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

/** A time span for people, in its longest unit. */
export function spanOf(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  const [length, unit] =
    seconds < 120
      ? [seconds, 'second']
      : seconds < 7200
        ? [Math.round(seconds / 60), 'minute']
        : seconds < 172_800
          ? [Math.round(seconds / 3600), 'hour']
          : [Math.round(seconds / 86_400), 'day']
  return `${length} ${unit}${length === 1 ? '' : 's'}`
}

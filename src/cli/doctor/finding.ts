/** The findings of `doctor` and how they are formatted. */
import type { DoctorReport } from '../../api/rest/doctor.ts'
import { withoutKeys } from '../../crypto/encoding/redact.ts'

/** One line of the report. */
export type Finding = DoctorReport['checks'][number]
export type FindingState = Finding['state']

/** Creates a finding. Text that looks like a secret is redacted, so that a report can be shared. */
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

/** Returns the message of a thrown value as one line. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ')

/** Returns a text as one word for a shell. It is quoted only if it has special characters. */
export const shellWord = (text: string): string =>
  /^[\w.:/[\]-]+$/.test(text) ? text : shellQuoted(text)

/** Returns a text in single quotes for a shell command that the user copies. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** Returns a size in bytes as text in a readable unit. */
export function sizeOf(bytes: number): string {
  const unit = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1)
  const value = bytes / 1000 ** unit
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

/** Returns a time span in milliseconds as text in its longest suitable unit. */
export function durationText(ms: number): string {
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

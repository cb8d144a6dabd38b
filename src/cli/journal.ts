/**
 * Priorities of lines in the journal of systemd.
 *
 * A line that begins with `<4>` has the priority `warning`. The journal removes this prefix.
 * @see sd-daemon(3), systemd.exec(5) "$JOURNAL_STREAM"
 */
import { fstatSync } from 'node:fs'
import type { Level } from '../log.ts'

/** The numbers of syslog(3). */
const PRIORITIES: Readonly<Record<Level, number>> = { error: 3, warn: 4, info: 6, debug: 7 }

/**
 * Whether standard error leads to the journal.
 *
 * A program that the service started may write elsewhere, so the variable alone does not show that.
 */
export function isJournal({ JOURNAL_STREAM: stream = '' }: NodeJS.ProcessEnv): boolean {
  if (!/^\d+:\d+$/.test(stream)) return false
  try {
    const { dev, ino } = fstatSync(2, { bigint: true })
    return stream === `${dev}:${ino}`
  } catch {
    return false
  }
}

/** Returns a text with the priority before each of its lines. */
export const withPriority = (level: Level, text: string): string =>
  text.replaceAll(/^(?=[^\n])/gm, `<${PRIORITIES[level]}>`)

const LEVEL = /^\{"time":"[^"]*","level":"(error|warn|info|debug)"/

/** Returns a JSON line of the log with its priority. */
export const journalLine = (json: string): string =>
  withPriority((LEVEL.exec(json)?.[1] ?? 'info') as Level, json)

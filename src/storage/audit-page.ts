/** Reads the audit log from its end, a page at a time. */
import { join } from 'node:path'
import { fileFault } from '../keychain/private-file.ts'
import { auditLinesIn } from './audit-chain.ts'
import { auditFiles, lastLineIn, readLine } from './audit-files.ts'

type Line = NonNullable<ReturnType<typeof readLine>>

/**
 * Returns the lines of a file with numbers less than `before`, newest first, at most `limit`. The
 * numbers of lines are consecutive, so the lines after them are not parsed.
 */
function newestIn(lines: readonly string[], before: number, limit: number): Line[] {
  const last = lines.findLastIndex((line) => readLine(line) !== null)
  const number = readLine(lines[last] ?? '')?.line ?? 0
  const found: Line[] = []
  for (let row = last - Math.max(0, number - before + 1); row >= 0 && found.length < limit; row--) {
    const line = readLine(lines[row]!)
    if (line !== null && line.line < before) found.push(line)
  }
  return found
}

/**
 * Returns the newest lines of an audit log, newest first. Lines that a crash truncated are left
 * out.
 * @param before only lines with a smaller number
 * @param limit the maximum number of lines
 */
export function newestAuditLines(dir: string, before: number, limit: number): Line[] {
  for (;;) {
    const names = auditFiles(dir)
    const found = newestOf(dir, names, before, limit)
    // A file that was renamed while it was read looks like an empty file.
    if (auditFiles(dir).join() === names.join()) return found
  }
}

function newestOf(dir: string, names: readonly string[], before: number, limit: number): Line[] {
  const found: Line[] = []
  for (const [at, name] of [...names.entries()].toReversed()) {
    if (found.length === limit) break
    if (lastLineIn(names[at - 1]) + 1 >= before) continue
    const lines = auditLinesIn(join(dir, name), fileFault)
    found.push(...newestIn(lines, before, limit - found.length))
  }
  return found
}

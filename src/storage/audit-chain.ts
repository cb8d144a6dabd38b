/**
 * Verifies an audit log: every line must contain the hash of the previous line, across all files.
 */
import { join } from 'node:path'
import { runToEnd } from '../crypto/logs/chain.ts'
import { fileFault, readChecked } from '../keychain/private-file.ts'
import { auditFiles, BEGINNING, linkOf, readLine } from './audit-files.ts'
import type { FileCheck } from '../keychain/private-file.ts'

export interface AuditReport {
  /** The number of lines that exist and form a chain. */
  readonly lines: number
  /**
   * The number of lines before the first existing one. They were in files that have been deleted.
   */
  readonly before: number
  /** The number of lines that a crash truncated. */
  readonly cut: number
  /** When the first and the last existing line were written. */
  readonly from: string | null
  readonly to: string | null
  /**
   * The hash that the next line must contain.
   *
   * An auditor who stores this hash can show later that no line before it was changed.
   */
  readonly head: string
  /** Whether the requested head is the hash of one of the lines; null if none was requested. */
  readonly knowsHead: boolean | null
  /** The first line that does not follow the previous one; null if there is none. */
  readonly fault: { readonly file: string; readonly row: number; readonly what: string } | null
}

/**
 * Returns the complete lines of a file.
 *
 * Bytes after the last line feed are still being written, or a crash truncated their line.
 */
export function auditLinesIn(path: string, check: FileCheck): string[] {
  // A file is missing here while it is being renamed. Afterwards, the list of files has changed, so
  // the check is repeated.
  const text = readChecked(path, check)?.toString('latin1') ?? ''
  return text.split('\n').slice(0, -1)
}

/** Verifies the lines of these files. Yields after each line, so that other work can run. */
function* walk(
  dir: string,
  names: readonly string[],
  asked: string | null,
  check: FileCheck,
): Generator<void, AuditReport, void> {
  let [lines, before, cut, number] = [0, 0, 0, 0]
  let from: string | null = null
  let to: string | null = null
  let head: string | null = null
  let knowsHead = asked === null ? null : asked === BEGINNING
  const report = (fault: AuditReport['fault']): AuditReport => ({
    lines,
    before,
    cut,
    from,
    to,
    head: head ?? BEGINNING,
    knowsHead,
    fault,
  })
  for (const file of names) {
    for (const [index, text] of auditLinesIn(join(dir, file), check).entries()) {
      const row = index + 1
      const parsed = readLine(text)
      if (parsed === null) {
        // The line after a truncated line contains the truncated line's hash, as usual.
        cut++
        number++
      } else {
        if (head === null) before = parsed.line - 1
        // The line before the first existing line was deleted. The very first line has no previous
        // line.
        const expected = head ?? (parsed.line === 1 ? BEGINNING : parsed.prev)
        if (parsed.prev !== expected)
          return report({ file, row, what: 'does not follow from the previous line' })
        if (head !== null && parsed.line !== number + 1)
          return report({ file, row, what: `has the number ${parsed.line}, not ${number + 1}` })
        number = parsed.line
        from ??= parsed.at
        to = parsed.at
      }
      lines++
      head = linkOf(Buffer.from(text, 'latin1'))
      if (head === asked) knowsHead = true
      yield
    }
  }
  return report(null)
}

/**
 * Verifies the audit log of a state folder. A daemon may write to it at the same time. Yields after
 * each line.
 * @param asked a head that was stored earlier, 64 hex digits
 * @param check checks the owner and the mode of each file; by default, the current user must own it
 */
export function* verifyingAudit(
  dir: string,
  asked: string | null = null,
  check: FileCheck = fileFault,
): Generator<void, AuditReport, void> {
  for (;;) {
    const names = auditFiles(dir)
    const report = yield* walk(dir, names, asked, check)
    // A file that was renamed during the check looks like a missing file, so the check is repeated.
    if (auditFiles(dir).join() === names.join()) return report
  }
}

/** Verifies the audit log as `verifyingAudit`, without interruption. */
export const verifyAudit = (...of: Parameters<typeof verifyingAudit>): AuditReport =>
  runToEnd(verifyingAudit(...of))

/** Verifies an audit log: every line must hold the hash of the line before, across all files. */
import { join } from 'node:path'
import { fileFault, readChecked } from '../keychain/private-file.ts'
import { auditFiles, BEGINNING, linkOf, readLine } from './audit-files.ts'
import type { FileCheck } from '../keychain/private-file.ts'

interface AuditReport {
  /** Lines that exist and follow from each other. */
  readonly lines: number
  /** Lines before the first existing one. They were in full files that were since deleted. */
  readonly before: number
  /** Lines that a crash truncated. */
  readonly cut: number
  /** When the first and the last existing lines were written. */
  readonly from: string | null
  readonly to: string | null
  /**
   * The hash that the next line will hold. An auditor who stores it can later show that no line
   * before it was changed.
   */
  readonly head: string
  /** Whether the requested head is the hash of one of the lines; null if none was requested. */
  readonly knowsHead: boolean | null
  /** The first line that does not follow from the one before; null if there is none. */
  readonly fault: { readonly file: string; readonly row: number; readonly what: string } | null
}

/**
 * Returns the complete lines of a file. Bytes behind the last line feed are still being written,
 * or were truncated.
 */
function linesOf(path: string, check: FileCheck): string[] {
  // A file that is being renamed is missing here. The list of files then differs afterwards.
  const text = readChecked(path, check)?.toString('latin1') ?? ''
  return text.split('\n').slice(0, -1)
}

function walk(
  dir: string,
  names: readonly string[],
  asked: string | null,
  check: FileCheck,
): AuditReport {
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
    for (const [index, text] of linesOf(join(dir, file), check).entries()) {
      const row = index + 1
      const said = readLine(text)
      if (said === null) {
        // The line after a truncated line holds its hash, as for every line.
        cut++
        number++
      } else {
        if (head === null) before = said.line - 1
        // The line before the first existing one is deleted; the very first line has none.
        const expected = head ?? (said.line === 1 ? BEGINNING : said.prev)
        if (said.prev !== expected)
          return report({ file, row, what: 'does not follow from the previous line' })
        if (head !== null && said.line !== number + 1)
          return report({ file, row, what: `has the number ${said.line}, not ${number + 1}` })
        number = said.line
        from ??= said.at
        to = said.at
      }
      lines++
      head = linkOf(Buffer.from(text, 'latin1'))
      if (head === asked) knowsHead = true
    }
  }
  return report(null)
}

/**
 * Verifies the audit log of a state folder. A daemon may write to it meanwhile.
 * @param asked a head that was stored before, 64 hex digits
 * @param check checks the owner and mode of each file; by default the caller must own it
 */
export function verifyAudit(
  dir: string,
  asked: string | null = null,
  check: FileCheck = fileFault,
): AuditReport {
  for (;;) {
    const names = auditFiles(dir)
    const report = walk(dir, names, asked, check)
    // A file that was renamed meanwhile looks like a missing one, so the check is repeated.
    if (auditFiles(dir).join() === names.join()) return report
  }
}

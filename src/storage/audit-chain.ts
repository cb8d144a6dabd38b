/** Whether an audit log is as it was written: every line follows from the one before, over all files. */
import { join } from 'node:path'
import { fault as faultOf, readChecked } from '../keychain/private-file.ts'
import { auditFiles } from './audit-files.ts'
import { BEGINNING, linkOf, readLine } from './audit-line.ts'
import type { Check } from './folder.ts'

export interface AuditReport {
  /** Lines that are there and follow from each other. */
  readonly lines: number
  /** Lines before the first that is there; their files were full, and others after them. */
  readonly before: number
  /** Lines that a crash cut off. */
  readonly cut: number
  /** When the first and the last that are there were written. */
  readonly from: string | null
  readonly to: string | null
  /** What the next line will say of the last. Who notes it elsewhere can show later that nothing before it was changed. */
  readonly head: string
  /** Whether the head that was asked for is the hash of one of the lines; null where none was asked for. */
  readonly knowsHead: boolean | null
  /** The first thing that is not as it was written. */
  readonly fault: { readonly file: string; readonly row: number; readonly what: string } | null
}

/** The lines of a file. What stands behind the last line feed is being written, or was cut off. */
function linesOf(path: string, check: Check): string[] {
  // One that is being put away is not there; the list of files then is another afterwards.
  const text = readChecked(path, check)?.toString('latin1') ?? ''
  return text.split('\n').slice(0, -1)
}

function walk(
  dir: string,
  names: readonly string[],
  asked: string | null,
  check: Check,
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
        // What was cut off is bound by the line after it, like every line.
        cut++
        number++
      } else {
        if (head === null) before = said.line - 1
        // Of the first that is there, the line before is gone; of the very first there was none.
        const expected = head ?? (said.line === 1 ? BEGINNING : said.prev)
        if (said.prev !== expected)
          return report({ file, row, what: 'does not follow from the line before' })
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
 * Check the audit log in a state folder, also while a daemon writes to it.
 * @param asked a head that was noted before, 64 hex digits
 * @param check whose files they must be; the caller's own, unless told
 */
export function verifyAudit(
  dir: string,
  asked: string | null = null,
  check: Check = faultOf,
): AuditReport {
  for (;;) {
    const names = auditFiles(dir)
    const report = walk(dir, names, asked, check)
    // A file that was put away meanwhile looks like one that is missing.
    if (auditFiles(dir).join() === names.join()) return report
  }
}

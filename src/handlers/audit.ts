/** Handlers for the audit log of this daemon. Machine accounts have no access to it. */
import { pageOf, readCursor, rowsFor } from '../api/cursor.ts'
import type { AuditEntry } from '../api/rest/audit.ts'
import { inSlices } from '../slices.ts'
import { verifyingAudit } from '../storage/audit-chain.ts'
import { newestAuditLines } from '../storage/audit-page.ts'
import { type HandlerContext, type Handlers, noDevice } from './context.ts'

/** @throws AppError no_device */
function auditFolder({ home, byMachine }: HandlerContext): string {
  if (byMachine) throw noDevice()
  return home.stateDir
}

const entryOf = (line: ReturnType<typeof newestAuditLines>[number]): AuditEntry => ({
  line: line.line,
  at: line.at,
  request_id: line.request_id ?? null,
  peer_uid: line.peer_uid ?? null,
  channel: line.channel ?? null,
  token: line.token ?? null,
  route: line.route ?? null,
  status: line.status ?? null,
  outcome: line.outcome ?? '',
  created: line.created ?? null,
  unlisted: line.unlisted ?? 0,
  lost: line.lost ?? 0,
})

export const audit: Handlers['audit'] = {
  list: async (page, context) => {
    const cursor = readCursor(page.cursor, (text) => /^\d{1,15}$/.test(text))
    const before = cursor === null ? Number.MAX_SAFE_INTEGER : Number(cursor)
    const lines = newestAuditLines(auditFolder(context), before, rowsFor(page))
    const { items, next_cursor } = pageOf(
      lines.map((line) => ({ id: String(line.line), line })),
      page,
    )
    return { items: items.map(({ line }) => entryOf(line)), next_cursor }
  },

  chain: async ({ head = null }, context) => {
    const report = await inSlices(verifyingAudit(auditFolder(context), head))
    const { knowsHead, fault, lines, before, cut, from, to, head: last } = report
    return {
      ok: fault === null && knowsHead !== false,
      lines,
      before,
      cut,
      from,
      to,
      head: last,
      knows_head: knowsHead,
      fault,
    }
  },
}

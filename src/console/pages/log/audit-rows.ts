/** The audit log: what is filtered, and how it is written to a file. */
import { allItems, api, dataOf, LARGEST_PAGE, type Schemas } from '../../data/api.ts'
import { filled, messages } from '../../text/text.tsx'
import { callerText } from '../../ui/caller-name.tsx'

/** A line of the audit log. */
export type AuditLineShown = Schemas['AuditEntry']

/** The kinds of lines that can be shown alone; the empty text stands for all. */
export type AuditKind = '' | 'changes' | 'refusals' | 'starts'

/** What of the log is shown. */
export interface AuditFilter {
  readonly kind: AuditKind
  /** A part of the sender or of the request. */
  readonly text: string
}

/** Whether a line is of the daemon itself. */
const isOfDaemon = ({ outcome }: AuditLineShown): boolean =>
  outcome === 'started' || outcome === 'stopped'

const isChange = ({ outcome, route }: AuditLineShown): boolean =>
  outcome === 'done' && route !== null && !route.startsWith('GET ')

/** Whether a line is of a console that exchanged its code, before it had a token. */
const isOpening = ({ outcome, route }: AuditLineShown): boolean =>
  outcome === 'done' && route === 'POST /console/v1/session'

/** Returns the sender of a line as text. */
export function senderOf(line: AuditLineShown): string {
  const { log } = messages()
  if (isOfDaemon(line)) return log.daemon
  return isOpening(line) ? log.openCode : callerText(line.token)
}

/** Returns the outcome of a line as text. */
export function outcomeText({ outcome }: AuditLineShown): string {
  const { log } = messages()
  return outcome === 'done' || outcome === 'started' || outcome === 'stopped'
    ? log[outcome]
    : filled(log.refused, { code: outcome })
}

/** Returns whether a line records a refused request. */
export const isRefusedLine = (line: AuditLineShown): boolean =>
  line.outcome !== 'done' && !isOfDaemon(line)

/** Returns whether a line fits a filter. */
export function fitsAuditFilter(line: AuditLineShown, { kind, text }: AuditFilter): boolean {
  if (kind === 'changes' && !isChange(line)) return false
  if (kind === 'refusals' && !isRefusedLine(line)) return false
  if (kind === 'starts' && !isOfDaemon(line)) return false
  const wanted = text.trim().toLowerCase()
  return (
    wanted === '' ||
    [senderOf(line), line.token, line.route, line.created].join(' ').toLowerCase().includes(wanted)
  )
}

/** Reads a page of the log. */
export const readAudit = (page: {
  readonly limit?: number
  readonly cursor?: string
}): Promise<{ readonly items: AuditLineShown[]; readonly next_cursor: string | null }> =>
  dataOf(api.GET('/api/v1/audit', { params: { query: { limit: LARGEST_PAGE, ...page } } }))

/** Returns all lines that fit a filter as rows, the first with the headings. */
export async function auditRows(filter: AuditFilter): Promise<string[][]> {
  const { log } = messages()
  const all = await allItems(readAudit)
  return [
    [log.line, log.time, log.by, 'token', log.what, 'status', log.outcome, 'created', 'request_id'],
    ...all
      .filter((line) => fitsAuditFilter(line, filter))
      .map((line) => [
        String(line.line),
        line.at,
        senderOf(line),
        line.token ?? '',
        line.route ?? '',
        String(line.status ?? ''),
        line.outcome,
        line.created ?? '',
        line.request_id ?? '',
      ]),
  ]
}

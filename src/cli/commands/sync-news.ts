/** What a sync changed, in sentences for people. */
import type { SyncReport } from '../../api/rest/sync.ts'
import type { Api } from '../command.ts'
import { readEvents } from '../event-pages.ts'
import { logEntries } from './history.ts'

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** Returns what a sync changed, one sentence per line. */
export async function syncNews(api: Api, report: SyncReport): Promise<string[]> {
  const { items } = await readEvents(api, { since: report.started_at })
  const { verifications, envelopes } = report.pushed
  const lines = (await logEntries(api, items, Infinity)).map(({ text }) => `${text}.`)
  if (verifications > 0) lines.push(`Uploaded ${counted(verifications, 'check')} of words.`)
  if (envelopes > 0) lines.push(`Handed over secrets to ${counted(envelopes, 'device')}.`)
  return lines.length === 0 && report.ok ? ['Nothing new.'] : [...new Set(lines)]
}

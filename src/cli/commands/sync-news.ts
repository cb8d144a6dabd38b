/** What a sync changed, in sentences for people. */
import type { EventType } from '../../api/live/catalogue.ts'
import type { SyncReport } from '../../api/rest/sync.ts'
import { inQuotes } from '../../api/name-text.ts'
import type { Api } from '../command.ts'
import { brief, shown } from '../table.ts'
import { readEvents } from './events.ts'

type Data = Readonly<Record<string, unknown>>

/** Returns a name from the data of an event, in quotes. */
const named = (name: unknown): string => inQuotes(shown(brief(String(name))))

const SENTENCES: Readonly<Partial<Record<EventType, (data: Data) => string | null>>> = {
  'connection.added': ({ name }) => `The connection ${named(name)} is new.`,
  'connection.ready': ({ name }) => `The words of ${named(name)} can be used now.`,
  'connection.suspended': ({ name }) =>
    `No words of ${named(name)} verify now ("countersignd connection show" has the reason).`,
  'connection.rekeyed': ({ name }) => `${named(name)} has a new secret.`,
  'connection.removed': ({ name }) => `The connection ${named(name)} was removed.`,
  'member.joined': ({ display_name: who, connection_name: name }) =>
    `${named(who)} joined ${named(name)}. Their device gets the secret at its next sync.`,
  'member.left': ({ display_name: who, connection_name: name }) =>
    `${named(who)} is no longer in ${named(name)}.`,
  'guest_code.created': ({ label }) => `The guest code ${named(label)} is new.`,
  'guest_code.revoked': ({ label }) => `The guest code ${named(label)} was revoked.`,
  'guest_code.deleted': ({ label }) => `The guest code ${named(label)} was deleted.`,
  'device.added': () => 'Your account has a new device ("countersignd device list").',
  'device.revoked': () => 'A device of your account was revoked ("countersignd device list").',
  'trust.keys_changed': ({ display_name: who }) =>
    `The keys of ${named(who)} changed ("countersignd trust list").`,
  'invitation.received': () => 'You have a new invitation ("countersignd invite list").',
  'invitation.approved': ({ direction }) =>
    direction === 'sent' ? 'An invitation was approved ("countersignd invite list").' : null,
  'invitation.declined': ({ direction }) =>
    direction === 'sent' ? 'An invitation was declined ("countersignd invite list").' : null,
  'invitation.withdrawn': ({ direction }) =>
    direction === 'received' ? 'An invitation was withdrawn ("countersignd invite list").' : null,
  'open_link_request.received': () =>
    'Someone asks to connect with you ("countersignd link requests").',
  'org.joined': ({ name }) => `You are in the organisation ${named(name)}.`,
  'org.left': ({ name }) => `You are no longer in the organisation ${named(name)}.`,
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** Returns what a sync changed, one sentence per line. */
export async function syncNews(api: Api, report: SyncReport): Promise<string[]> {
  const { items } = await readEvents(api, { since: report.started_at, wait: 0 })
  const { verifications, envelopes } = report.pushed
  const lines = items.flatMap(
    ({ type, data }) => SENTENCES[type as EventType]?.(data as Data) ?? [],
  )
  if (verifications > 0) lines.push(`Uploaded ${counted(verifications, 'check')} of words.`)
  if (envelopes > 0) lines.push(`Handed over secrets to ${counted(envelopes, 'device')}.`)
  return lines.length === 0 && report.ok ? ['Nothing new.'] : [...new Set(lines)]
}

/**
 * Logs the story of the day: one line for each event of the catalogue. The lines are written after
 * the transaction of the change.
 */
import type { EventType } from '../api/live/catalogue.ts'
import type { Log } from '../log.ts'
import type { EventRows } from '../state/events.ts'

/** The lines; null if the module that makes the change logs it. */
export const EVENT_LINES: Readonly<Record<EventType, string | null>> = {
  'connection.added': 'connection added',
  'connection.renamed': 'connection renamed',
  'connection.ready': 'words of a connection are usable',
  'connection.suspended': 'connection suspended',
  'connection.resumed': 'connection resumed',
  'connection.rekeyed': 'connection has a new secret',
  'connection.removed': 'connection removed',
  'member.joined': 'member joined',
  'member.left': 'member left',
  'guest_code.created': 'guest code created',
  'guest_code.revoked': 'guest code revoked',
  'guest_code.expired': 'guest code expired',
  'guest_code.deleted': 'guest code deleted',
  'device.added': 'device added',
  'device.revoked': 'device revoked',
  'device.waiting': 'device waits for approval',
  'device.declined': 'waiting device declined',
  'session.started': null,
  'session.approved': null,
  'session.ended': null,
  'trust.followed': 'account followed',
  'trust.keys_changed': 'keys of an account changed',
  'trust.confirmed': 'keys of an account confirmed',
  'trust.unfollowed': 'account unfollowed',
  'verification.made': 'words checked',
  'stamp.created': 'stamp signed',
  'sync.done': 'synced',
  'sync.failed': null,
  'token.created': 'token created',
  'token.revoked': 'token revoked',
  'invitation.received': 'invitation received',
  'invitation.sent': 'invitation sent',
  'invitation.approved': 'invitation approved',
  'invitation.declined': 'invitation declined',
  'invitation.withdrawn': 'invitation withdrawn',
  'invitation.expired': 'invitation expired',
  'first_contact.ended': 'first contact ended',
  'open_link_request.received': 'request received at an open link',
  'open_link_request.approved': 'request at an open link approved',
  'open_link_request.declined': 'request at an open link declined',
  'notification.created': 'new notification',
  'notification.read': 'notification read',
  'export.requested': 'export requested',
  'export.ready': 'export ready',
  'export.failed': 'export failed',
  'export.expired': 'export expired',
  'org.joined': 'organisation joined',
  'org.left': 'organisation left',
  'org.renamed': 'organisation renamed',
  'org.role_changed': 'role in an organisation changed',
  'webhook.given_up': null,
}

/** How many events are read at once. */
const BATCH = 200
/** How long events are gathered before they are read, in milliseconds. */
const GATHER_MS = 100

/**
 * Logs the events from now on. Returns a function that logs the last ones and ends this.
 */
export function logStory(events: EventRows, log: Log): () => void {
  let seq = events.last()

  function tell(): void {
    for (;;) {
      const batch = events.after(seq, BATCH)
      for (const { type, data } of batch) {
        const line = EVENT_LINES[type]
        if (line !== null) log('info', line, data)
      }
      seq = batch.at(-1)?.seq ?? seq
      if (batch.length < BATCH) return
    }
  }

  function tellOrLog(): void {
    try {
      tell()
    } catch (cause) {
      log('error', 'could not read the events', { cause })
    }
  }

  // Reading each event on its own would double the time of a check of words.
  const ignore = events.onAdded(tellOrLog, GATHER_MS)
  return () => {
    ignore()
    tellOrLog()
  }
}

/**
 * The events of this device after which the data of its organisation may be another one. The
 * changes that other members make cause no event here; a sync that has news, or a visit of the
 * page, reads the data again.
 */
export const ORGANISATION_CHANGES = [
  'org.*',
  'session.*',
  'sync.done',
  'notification.created',
  'verification.made',
  'stamp.created',
  'connection.added',
]

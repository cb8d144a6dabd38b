/**
 * Phrases for events in the texts of alerts: "a stamp was made 3 times or more within 10
 * minutes".
 */
import type { AlertEvent } from '../../api/rest/org.ts'

const PHRASES: Readonly<Record<AlertEvent, string>> = {
  member_invited: 'somebody was invited',
  member_joined: 'a member joined',
  member_activated: 'a member was activated',
  member_suspended: 'a member was suspended',
  member_role_changed: 'the role of a member changed',
  member_left: 'a member left',
  group_created: 'a group was made',
  group_updated: 'a group was changed',
  group_deleted: 'a group was deleted',
  group_members_added: 'members were added to a group',
  group_members_removed: 'members were removed from a group',
  alert_created: 'an alert was made',
  alert_updated: 'an alert was changed',
  alert_deleted: 'an alert was deleted',
  machine_created: 'a machine account was made',
  token_created: 'a token was made',
  token_revoked: 'a token was revoked',
  connection_created: 'a connection was made',
  verification: 'words were verified',
  verification_failed: 'a check of words failed',
  stamp: 'a stamp was made',
}

/** Returns the phrase for the event of an alert. */
export const phraseOf = (event: AlertEvent): string => PHRASES[event]

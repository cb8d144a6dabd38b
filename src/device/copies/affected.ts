/**
 * Which lists a write changes. After the write, this device must not show copies from before it.
 */

/** The groups of routes with answers that a write of each group may change. */
const AFFECTED: Readonly<Record<string, readonly string[]>> = {
  connections: ['connections', 'invitations', 'tags'],
  members: ['connections', 'invitations'],
  invitations: ['connections', 'invitations', 'notifications'],
  openLinkRequests: ['connections', 'notifications', 'openLinkRequests', 'openLinks'],
  openLinks: ['openLinkRequests', 'openLinks'],
  guestCodes: ['guestCodes'],
  externalMembers: ['externalMembers', 'guestCodes'],
  tags: ['connections', 'tags'],
  presets: ['connections', 'presets'],
  trustCards: ['trust', 'trustCards'],
  profile: ['context', 'profile', 'profiles'],
  preferences: ['preferences', 'profile', 'profiles'],
  notifications: ['notifications'],
  devices: ['devices', 'profiles', 'sessions'],
  approvals: ['devices', 'profiles', 'sessions'],
  sealKey: ['devices', 'profiles'],
  sessions: ['devices', 'sessions'],
  emails: ['context', 'emails', 'invitations'],
  exports: ['exports'],
  context: ['context'],
  organisations: ['context'],
  orgMembers: ['context'],
}

/** Returns the groups of routes with answers that a write of a group may change. */
export const affectedBy = (group: string): readonly string[] => AFFECTED[group] ?? []

/**
 * The roster of a connection (section 4).
 *
 * Collects what other folders import from the files `roster-*` and `recipients`.
 */
export {
  heldMembers,
  holdersOf,
  isHeld,
  recipientsOf,
  rotationDue,
  unconfirmedMembers,
} from '../recipients.ts'
export {
  addMember,
  changeRole,
  confirmMember,
  endConnection,
  leave,
  openEntry,
  removeMember,
  rotate,
  type Signer,
} from './roster-entries.ts'
export { readRosterEntry, type RosterEntry, type RosterRole } from './roster-form.ts'
export {
  accountsInRoster,
  goneSince,
  isFreshHead,
  lastConsentOf,
  openerOf,
  openingOf,
  unsignedConsentOf,
  verifyingRoster,
  verifyRoster,
  type Roster,
} from './roster-log.ts'
export type { KeyLogs, RosterMember } from './roster-ops.ts'

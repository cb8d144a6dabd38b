/**
 * The roster of a connection (section 4): the only entry point to the files `roster-*` and
 * `recipients`.
 */
export {
  heldMembers,
  holdersOf,
  isHeld,
  recipientsOf,
  rotationDue,
  unconfirmedMembers,
  type SecretHolder as Holder,
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
export {
  readRosterEntry as readEntry,
  type RosterEntry as Entry,
  type RosterRole as Role,
} from './roster-form.ts'
export {
  accountsOf,
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
export type { KeyLogs, RosterMember as Member } from './roster-ops.ts'

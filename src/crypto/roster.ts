/** The roster of a connection (section 4): the one door to the files `roster-*` and `recipients`. */
export { changedMembers, heldBack, recipientsOf, rotationDue } from './recipients.ts'
export {
  addMember,
  changeRole,
  endConnection,
  leave,
  openEntry,
  removeMember,
  rotate,
  type Signer,
} from './roster-entries.ts'
export { accountsOf, goneSince, verifyRoster, type Roster } from './roster-log.ts'
export { keyCommitment as commitment } from './key-commitment.ts'
export { type KeyLogs, type Member, type Role } from './roster-ops.ts'

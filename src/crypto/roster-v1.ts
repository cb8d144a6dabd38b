/** The roster of a connection (section 4): the one door to the files `roster-*` and `recipients`. */
export { changedMembers, heldBack, recipientsOf, rotationDue } from './recipients-v1.ts'
export {
  addMember,
  changeRole,
  endConnection,
  leave,
  openEntry,
  removeMember,
  rotate,
  type Signer,
} from './roster-entries-v1.ts'
export { accountsOf, goneSince, verifyRoster, type Roster } from './roster-log-v1.ts'
export { commitment, type KeyLogs, type Member, type Role } from './roster-ops-v1.ts'

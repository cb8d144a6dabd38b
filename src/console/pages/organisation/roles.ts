/** The roles of members. */
import type { Schemas } from '../../data/api.ts'

export type OrganisationRole = Schemas['OrgMember']['role']

/** The roles, the lowest first. */
export const ROLES: readonly OrganisationRole[] = ['member', 'admin', 'owner']

/** Returns whether a role has more rights than another one. */
export const isHigherRole = (role: OrganisationRole, than: OrganisationRole): boolean =>
  ROLES.indexOf(role) > ROLES.indexOf(than)

/** The members and groups of the organisation, read completely: search and filters need all. */
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource, type Resource } from '../../data/resource.ts'
import { ORGANISATION_CHANGES } from './changes.ts'

/** All members and groups. */
export interface MembersAndGroups {
  readonly members: readonly Schemas['OrgMember'][]
  readonly groups: readonly Schemas['OrgGroup'][]
}

/** Returns what a member is called: the name, or else the address, or else the id. */
export const calledMember = ({ display_name, email, id }: Schemas['OrgMember']): string =>
  display_name ?? email ?? id

async function readMembersAndGroups(): Promise<MembersAndGroups> {
  const [members, groups] = await Promise.all([
    allItems((query) => dataOf(api.GET('/api/v1/org/members', { params: { query } }))),
    allItems((query) => dataOf(api.GET('/api/v1/org/groups', { params: { query } }))),
  ])
  return { members, groups }
}

/** Reads all members and groups while a component is shown. */
export const useMembersAndGroups = (): Resource<MembersAndGroups> =>
  useResource('members and groups', readMembersAndGroups, ORGANISATION_CHANGES)

/** Descriptions of organisations: creating one, and operations in the active one. */
import type { Rest } from '../../rest/index.ts'
import type { Descriptions } from './descriptions.ts'

export const organisations: Descriptions<
  Pick<
    Rest,
    'organisations' | 'orgMembers' | 'orgGroups' | 'orgAlerts' | 'orgActivity' | 'orgAnalytics'
  >
> = {
  organisations: {
    create:
      'For people, a hundred organisations each; a machine account gets 403. It does not become the active one: `POST /api/v1/context/active-org` chooses it, and the other routes below `/api/v1/org/` then act in it.',
  },
  orgMembers: {
    list: 'Any active member may: people and machines, invited, active and suspended, each with role and groups.',
    read: 'Any active member may. The id is that of the account; of a mailbox that nobody has proven here yet, one that begins with `mem_`.',
    activate:
      'For owners and admins; an owner is activated by owners alone. Somebody who was suspended is back with role and groups. Doing it again changes nothing.',
    suspend:
      'For owners and admins, and for oneself: that is leaving. The organisation is gone from all their sessions until they are activated; a machine is refused altogether. The last owner stays.',
    bulkInvite:
      'For owners and admins. Each address is judged by itself, `skipped` says why; the others get a mail, three an hour at most. Naming a member with a wider role gives them that role.',
  },
  orgGroups: {
    list: 'Any active member may. Who is in a group stands in `group_ids` of the members.',
    create: 'For owners and admins. It begins empty, and changes nobody’s rights.',
    update: 'For owners and admins. What is left out stays.',
    delete: 'For owners and admins. It cannot be undone: a new group begins empty.',
    addMembers:
      'For owners and admins. All or none: where one of them is no member of the organisation, 422 names it. Who is in it already stays.',
    removeMembers:
      'For owners and admins. All or none, as adding is; who is not in the group is passed over.',
  },
  orgAlerts: {
    list: 'Any active member may. `last_fired_at` tells when a rule last found its event often enough.',
    create:
      'For owners and admins. Those in `notify` get a notification and, unless they prefer otherwise, a mail; then it says nothing for as long as its window is.',
    update: 'For owners and admins. `enabled: false` rests it. What is left out stays.',
    delete: 'For owners and admins. What it told before stays where it was told.',
  },
  orgActivity: {
    list: 'Any active member may. It names who did what and when, and never words, names of connections or what was stamped.',
    summary: 'Any active member may. Counts whole days in UTC, thirty unless told, a year at most.',
  },
  orgAnalytics: {
    dashboard: 'Any active member may. Over all time; machines count among the members too.',
    trends:
      'Any active member may. Every day or week has a point, also one on which nothing happened; a year of days or ten of weeks at most.',
  },
}

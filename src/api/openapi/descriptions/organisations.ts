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
    read: 'Any active member may. The id is that of the account; for a mailbox that is not proven here yet, it begins with `mem_`.',
    activate:
      'For owners and admins; an owner is activated by owners alone. A suspended member is back with role and groups. Doing it again changes nothing.',
    suspend:
      'For owners and admins, and for oneself: that is leaving. The organisation is gone from all their sessions until they are activated; a machine is refused altogether. The last owner stays.',
    bulkInvite:
      'For owners and admins. Each address is handled separately, `skipped` has the reason; the others get a mail, three an hour at most. Naming a member with a wider role gives them that role.',
  },
  orgGroups: {
    list: 'Any active member may. Who is in a group stands in `group_ids` of the members.',
    create: 'For owners and admins. It begins empty, and changes no rights.',
    update: 'For owners and admins. What is left out stays.',
    delete: 'For owners and admins. It cannot be undone: a new group begins empty.',
    addMembers:
      'For owners and admins. All or none: where one of them is no member of the organisation, 422 names it. Who is in it already stays.',
    removeMembers:
      'For owners and admins. All or none, as adding is; who is not in the group is passed over.',
  },
  orgAlerts: {
    list: 'Any active member may. `last_fired_at` is the last time at which a rule fired.',
    create:
      'For owners and admins. Those in `notify` get a notification and, unless they turned mails off, a mail; it fires once in a window.',
    update: 'For owners and admins. `enabled: false` rests it. What is left out stays.',
    delete: 'For owners and admins. Earlier notifications stay.',
  },
  orgActivity: {
    list: 'Any active member may. It names who did what and when, and never words, names of connections or what was stamped.',
    summary: 'Any active member may. Counts whole days in UTC, by default thirty, a year at most.',
  },
  orgAnalytics: {
    dashboard: 'Any active member may. Over all time; machines count among the members too.',
    trends:
      'Any active member may. Every day or week has a point, also one on which nothing happened; a year of days or ten of weeks at most.',
  },
}

/** Tools for organisations: creating one, and the active one. */
import type { Texts } from './text.ts'

export const organisation: Texts<
  'organisations' | 'orgMembers' | 'orgGroups' | 'orgAlerts' | 'orgActivity' | 'orgAnalytics'
> = {
  organisations_create: {
    title: 'Create an organisation',
    description:
      'Make a new organisation that the caller owns, at most a hundred each; machine accounts cannot. It cannot be deleted, and is not active yet: context_active_org with its id makes it so, and the org_ tools then act in it.',
  },
  org_members_list: {
    title: 'List members of the organisation',
    description:
      'People and machines of the active organisation (context_active_org first), invited and suspended ones too. Any member may. Members of a connection: connections_read.',
  },
  org_members_read: {
    title: 'Read a member of the organisation',
    description:
      'One member of the active organisation (context_active_org first): role, state, groups. Any member may. The public profile of an account: profiles_read.',
  },
  org_members_activate: {
    title: 'Activate a member of the organisation',
    description:
      'Let a suspended member back into the active organisation (context_active_org first), or take in an invited one who has proven the mailbox; an invitation that is held back waits again. Owners and admins. Undo by org_members_suspend.',
  },
  org_members_suspend: {
    title: 'Suspend a member of the organisation',
    description:
      'Shut a member out of the active organisation (context_active_org first), or hold an invitation back. Owners and admins; each member may suspend themselves, and so leave. Members are notified. Undo by org_members_activate. Of a connection: members_remove.',
  },
  org_members_bulk_invite: {
    title: 'Invite people to the organisation',
    description:
      'Mail up to 500 addresses an invitation to the active organisation (context_active_org first), or widen roles. Owners and admins. Lists skipped addresses with reasons; roles do not get narrower again. To a connection: members_add.',
  },
  org_groups_list: {
    title: 'List groups of the organisation',
    description:
      'Groups of the active organisation (context_active_org first). Any member may. Who is in one: group_ids in org_members_list. Labels of your connections: tags_list.',
  },
  org_groups_create: {
    title: 'Create a group of the organisation',
    description:
      'Make an empty group in the active organisation (context_active_org first). Owners and admins. People come in by org_groups_add_members. To exchange words with several people: connections_create.',
  },
  org_groups_update: {
    title: 'Change a group of the organisation',
    description:
      'Change name or description of a group of the active organisation (context_active_org first); what is left out stays. Owners and admins. Who is in it: org_groups_add_members, org_groups_remove_members.',
  },
  org_groups_delete: {
    title: 'Delete a group of the organisation',
    description:
      'Delete a group of the active organisation (context_active_org first); its people stay members. Owners and admins. Not undone. Some people only: org_groups_remove_members.',
  },
  org_groups_add_members: {
    title: 'Add members to a group',
    description:
      'Put members of the active organisation (context_active_org first) into one of its groups. Owners and admins. If one id is of no member, nothing changes. New people: org_members_bulk_invite. A connection: members_add.',
  },
  org_groups_remove_members: {
    title: 'Remove members from a group',
    description:
      'Take members out of a group of the active organisation (context_active_org first), of which they stay members. Owners and admins. Undo by org_groups_add_members. Out of the organisation: org_members_suspend.',
  },
  org_alerts_list: {
    title: 'List alerts of the organisation',
    description:
      'Rules of the active organisation (context_active_org first) that fire when an event is frequent; last_fired_at has the time. Any member may. What happened: org_activity_list.',
  },
  org_alerts_create: {
    title: 'Create an alert of the organisation',
    description:
      'Make a rule in the active organisation (context_active_org first): when an event happens so often within a window, the members in "notify" get a notification and a mail. Owners and admins.',
  },
  org_alerts_update: {
    title: 'Change an alert of the organisation',
    description:
      'Change a rule of the active organisation (context_active_org first), or switch it off by enabled false; what is left out stays, "notify" is replaced whole. Owners and admins.',
  },
  org_alerts_delete: {
    title: 'Delete an alert of the organisation',
    description:
      'Delete a rule of the active organisation (context_active_org first). Owners and admins. Not undone. Off for a while: org_alerts_update with enabled false.',
  },
  org_activity_list: {
    title: 'List what happened in the organisation',
    description:
      'Each event in the active organisation (context_active_org first), newest first: who did what to whom. Takes no dates. Any member may. Who was active between two days: org_activity_summary. Your own account: notifications_list.',
  },
  org_activity_summary: {
    title: 'Count events of the organisation',
    description:
      'Who was active in the active organisation (context_active_org first) between two days, as last week, and how often each event happened. Any member may. Over time: org_analytics_trends. Standing totals: org_analytics_dashboard.',
  },
  org_analytics_dashboard: {
    title: 'Read totals of the organisation',
    description:
      'Totals of the active organisation (context_active_org first): members by state, groups, connections, checks, stamps. Any member may. Between two days: org_activity_summary.',
  },
  org_analytics_trends: {
    title: 'Read a trend of the organisation',
    description:
      'How often one metric happened in the active organisation (context_active_org first), by day or week: points for a chart. Any member may. All events at once: org_activity_summary.',
  },
}

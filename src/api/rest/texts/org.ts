/** The texts of `../organisations.ts` and `../org.ts`. */
import type { Texts } from './text.ts'

export const orgTexts: Texts<
  'organisations' | 'orgMembers' | 'orgGroups' | 'orgAlerts' | 'orgActivity' | 'orgAnalytics'
> = {
  organisations: {
    create: {
      summary: 'Create an organisation, with the caller as its owner',
      description:
        'A person can create at most 100 organisations; a machine account gets 403. The new organisation does not become active. Make it active with `POST /api/v1/context/active-org`; then the other routes under `/api/v1/org/` act in it.',
      tool: {
        title: 'Create an organisation',
        description:
          'Create an organisation owned by the caller. Limit: 100 per person; machine accounts cannot. It cannot be deleted. It is not active yet: call context_active_org with its id, then the org_ tools act in it.',
        traits: ['again'],
      },
    },
  },
  orgMembers: {
    list: {
      summary: 'List the members of the organisation, including invited ones',
      description:
        'Any active member may do this. Lists people and machines, whether invited, active or suspended, each with role and groups.',
      tool: {
        title: 'List members of the organisation',
        description:
          'Lists people and machines of the active organisation (context_active_org first), including invited and suspended ones. Any member may use it. Members of a connection: connections_read.',
      },
    },
    read: {
      summary: 'Read a member of the organisation',
      description:
        'Any active member may do this. The id is the account id. For an invited email address that is not verified here yet, the id begins with `mem_`.',
      tool: {
        title: 'Read a member of the organisation',
        description:
          'Reads one member of the active organisation (context_active_org first): role, state, groups. Any member may use it. For the public profile of an account, use profiles_read.',
      },
    },
    activate: {
      summary: 'Activate an invited or suspended member of the organisation',
      description:
        'Owners and admins may do this; only owners may activate an owner. A suspended member gets their role and groups back. Repeating the call changes nothing.',
      tool: {
        title: 'Activate a member of the organisation',
        description:
          'Readmit a suspended member to the active organisation (context_active_org first), or admit an invited one with a verified email address. A suspended invitation becomes valid again. Owners and admins only. Undo with org_members_suspend.',
        traits: ['outside'],
      },
    },
    suspend: {
      summary: 'Suspend a member of the organisation',
      description:
        'Owners and admins may do this, and members may suspend themselves to leave. Until they are activated again, none of their sessions can use the organisation; every request of a suspended machine is refused. The last owner cannot be suspended.',
      tool: {
        title: 'Suspend a member of the organisation',
        description:
          'Block a member from the active organisation (context_active_org first), or suspend an invitation. Owners and admins only, but any member may suspend themselves to leave. The member is notified. Undo with org_members_activate. For connections, use members_remove.',
        traits: ['takes', 'outside'],
      },
    },
    bulkInvite: {
      summary: 'Invite up to 500 addresses to the organisation',
      description:
        'Owners and admins may do this. Each address is handled separately: `skipped` lists the addresses that were not invited, with the reason. The others get a mail, at most three an hour for each address. If you name an existing member with a wider role, they get that role.',
      tool: {
        title: 'Invite people to the organisation',
        description:
          'Mail up to 500 addresses an invitation to the active organisation (context_active_org first), or widen roles. Owners and admins only. Returns skipped addresses with reasons. No tool can narrow a role. For a connection, use members_add.',
        // Not `again`: addresses that are already invited are skipped.
        traits: ['outside'],
      },
    },
  },
  orgGroups: {
    list: {
      summary: 'List the groups of the organisation',
      description:
        'Any active member may do this. The field `group_ids` of each member shows who is in a group.',
      tool: {
        title: 'List groups of the organisation',
        description:
          'Lists groups of the active organisation (context_active_org first). Any member may use it. To see who is in a group, read group_ids in org_members_list. For labels of your connections, use tags_list.',
      },
    },
    create: {
      summary: 'Create a group of members of the organisation',
      description:
        'Owners and admins may do this. The new group is empty. A group does not change the rights of its members.',
      tool: {
        title: 'Create a group of the organisation',
        description:
          'Create an empty group in the active organisation (context_active_org first). Owners and admins only. Add people with org_groups_add_members. To exchange words with several people, use connections_create.',
        traits: [],
      },
    },
    update: {
      summary: 'Change the name or description of a group of the organisation',
      description: 'Owners and admins may do this. Fields that are left out do not change.',
      tool: {
        title: 'Change a group of the organisation',
        description:
          'Change the name or description of a group of the active organisation (context_active_org first). Fields left out do not change. Owners and admins only. To change its members, use org_groups_add_members or org_groups_remove_members.',
        traits: [],
      },
    },
    delete: {
      summary: 'Delete a group of the organisation; its members stay in the organisation',
      description:
        'Owners and admins may do this. It cannot be undone: a new group would be empty.',
      tool: {
        title: 'Delete a group of the organisation',
        description:
          'Delete a group of the active organisation (context_active_org first). Its members stay in the organisation. Owners and admins only. Cannot be undone. To remove only some members, use org_groups_remove_members.',
        traits: ['takes'],
      },
    },
    addMembers: {
      summary: 'Add members of the organisation to one of its groups',
      description:
        'Owners and admins may do this. Either all are added or none: if an id does not belong to a member of the organisation, 422 names that id. Members who are already in the group stay in it.',
      tool: {
        title: 'Add members to a group',
        description:
          'Add members of the active organisation (context_active_org first) to one of its groups. Owners and admins only. If one id is not a member’s, nothing changes. To invite new people, use org_members_bulk_invite; for a connection, members_add.',
        traits: [],
      },
    },
    removeMembers: {
      summary: 'Remove members from a group; they stay in the organisation',
      description:
        'Owners and admins may do this. If an id does not belong to a member of the organisation, nothing changes. Members who are not in the group are skipped.',
      tool: {
        title: 'Remove members from a group',
        description:
          'Remove members from a group of the active organisation (context_active_org first). They stay in the organisation. Owners and admins only. Undo with org_groups_add_members. To block a member from the organisation, use org_members_suspend.',
        traits: ['takes'],
      },
    },
  },
  orgAlerts: {
    list: {
      summary: 'List the alerts of the organisation',
      description:
        'Any active member may do this. `last_fired_at` is the time when a rule last fired.',
      tool: {
        title: 'List alerts of the organisation',
        description:
          'Lists rules of the active organisation (context_active_org first) that fire when an event happens too often; last_fired_at is the last time. Any member may use it. For the events themselves, use org_activity_list.',
      },
    },
    create: {
      summary:
        'Create an alert of the organisation: a rule that fires when an event happens too often',
      description:
        'Owners and admins may do this. When the rule fires, the members in `notify` get a notification and, unless they have switched mails off, a mail. The rule fires at most once within a window.',
      tool: {
        title: 'Create an alert of the organisation',
        description:
          'Create a rule in the active organisation (context_active_org first): when an event happens a given number of times within a window, the members in "notify" get a notification and a mail. Owners and admins only.',
        traits: ['again', 'outside'],
      },
    },
    update: {
      summary: 'Change an alert of the organisation',
      description:
        'Owners and admins may do this. `enabled: false` switches the rule off. Fields that are left out do not change.',
      tool: {
        title: 'Change an alert of the organisation',
        description:
          'Change a rule of the active organisation (context_active_org first), or switch it off with enabled false. Fields left out do not change; "notify" replaces the whole list. Owners and admins only.',
        traits: ['outside'],
      },
    },
    delete: {
      summary: 'Delete an alert of the organisation',
      description: 'Owners and admins may do this. Earlier notifications stay.',
      tool: {
        title: 'Delete an alert of the organisation',
        description:
          'Delete a rule of the active organisation (context_active_org first). Owners and admins only. Cannot be undone. To switch it off for a while, use org_alerts_update with enabled false.',
        traits: ['takes'],
      },
    },
  },
  orgActivity: {
    list: {
      summary: 'List the events of the organisation',
      description:
        'Any active member may do this. Each event says who did what and when. Words, names of connections and stamped content are never included.',
      tool: {
        title: 'List events of the organisation',
        description:
          'Lists the events of the active organisation (context_active_org first), newest first: who did what to whom. Cannot filter by date. Any member may use it. For activity between two days, use org_activity_summary; for your own account, notifications_list.',
      },
    },
    summary: {
      summary: 'Count the events of the organisation, by kind and by person',
      description:
        'Any active member may do this. Counts whole days in UTC: by default 30 days, at most one year.',
      tool: {
        title: 'Count events of the organisation',
        description:
          'Shows who was active in the active organisation (context_active_org first) between two days, and how often each event happened. Any member may use it. For a trend, use org_analytics_trends; for overall totals, org_analytics_dashboard.',
      },
    },
  },
  orgAnalytics: {
    dashboard: {
      summary: 'Read the totals of the organisation',
      description:
        'Any active member may do this. The totals cover all time. Machines are counted as members too.',
      tool: {
        title: 'Read totals of the organisation',
        description:
          'Shows totals of the active organisation (context_active_org first): members by state, groups, connections, checks, stamps. Any member may use it. For the time between two days, use org_activity_summary.',
      },
    },
    trends: {
      summary: 'Read how often an event happened in the organisation, by day or week',
      description:
        'Any active member may do this. Each day or week has a data point, even if nothing happened then. The period can be at most one year by day, or ten years by week.',
      tool: {
        title: 'Read a trend of the organisation',
        description:
          'Shows how often one event happened in the active organisation (context_active_org first), by day or week, as points for a chart. Any member may use it. For all events together, use org_activity_summary.',
      },
    },
  },
}

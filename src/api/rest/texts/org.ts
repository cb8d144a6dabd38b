/** The texts of `../organisations.ts` and `../org.ts`. */
import type { Texts } from './text.ts'

export const orgTexts: Texts<
  'organisations' | 'orgMembers' | 'orgGroups' | 'orgAlerts' | 'orgActivity' | 'orgAnalytics'
> = {
  organisations: {
    create: {
      summary: 'Create an organisation, with the caller as its owner',
      description:
        'For people, a hundred organisations each; a machine account gets 403. It does not become the active one: `POST /api/v1/context/active-org` chooses it, and the other routes below `/api/v1/org/` then act in it.',
      tool: {
        title: 'Create an organisation',
        description:
          'Make a new organisation that the caller owns, at most a hundred each; machine accounts cannot. It cannot be deleted, and is not active yet: context_active_org with its id makes it so, and the org_ tools then act in it.',
        traits: ['again'],
      },
    },
  },
  orgMembers: {
    list: {
      summary: 'List the members of the organisation, those invited included',
      description:
        'Any active member may: people and machines, invited, active and suspended, each with role and groups.',
      tool: {
        title: 'List members of the organisation',
        description:
          'People and machines of the active organisation (context_active_org first), invited and suspended ones too. Any member may. Members of a connection: connections_read.',
      },
    },
    read: {
      summary: 'Read a member of the organisation',
      description:
        'Any active member may. The id is that of the account; for a mailbox that is not proven here yet, it begins with `mem_`.',
      tool: {
        title: 'Read a member of the organisation',
        description:
          'One member of the active organisation (context_active_org first): role, state, groups. Any member may. The public profile of an account: profiles_read.',
      },
    },
    activate: {
      summary: 'Activate a member of the organisation that was invited or suspended',
      description:
        'For owners and admins; an owner is activated by owners alone. A suspended member is back with role and groups. Doing it again changes nothing.',
      tool: {
        title: 'Activate a member of the organisation',
        description:
          'Let a suspended member back into the active organisation (context_active_org first), or take in an invited one who has proven the mailbox; an invitation that is held back waits again. Owners and admins. Undo by org_members_suspend.',
        traits: ['outside'],
      },
    },
    suspend: {
      summary: 'Suspend a member of the organisation',
      description:
        'For owners and admins, and for oneself: that is leaving. The organisation is gone from all their sessions until they are activated; a machine is refused altogether. The last owner stays.',
      tool: {
        title: 'Suspend a member of the organisation',
        description:
          'Shut a member out of the active organisation (context_active_org first), or hold an invitation back. Owners and admins; each member may suspend themselves, and so leave. Members are notified. Undo by org_members_activate. Of a connection: members_remove.',
        traits: ['takes', 'outside'],
      },
    },
    bulkInvite: {
      summary: 'Invite up to 500 addresses to the organisation',
      description:
        'For owners and admins. Each address is handled separately, `skipped` has the reason; the others get a mail, three an hour at most. Naming a member with a wider role gives them that role.',
      tool: {
        title: 'Invite people to the organisation',
        description:
          'Mail up to 500 addresses an invitation to the active organisation (context_active_org first), or widen roles. Owners and admins. Lists skipped addresses with reasons; roles do not get narrower again. To a connection: members_add.',
        // Not `again`: addresses that are already invited are skipped.
        traits: ['outside'],
      },
    },
  },
  orgGroups: {
    list: {
      summary: 'List the groups of the organisation',
      description: 'Any active member may. Who is in a group stands in `group_ids` of the members.',
      tool: {
        title: 'List groups of the organisation',
        description:
          'Groups of the active organisation (context_active_org first). Any member may. Who is in one: group_ids in org_members_list. Labels of your connections: tags_list.',
      },
    },
    create: {
      summary: 'Create a group of members of the organisation',
      description: 'For owners and admins. It begins empty, and changes no rights.',
      tool: {
        title: 'Create a group of the organisation',
        description:
          'Make an empty group in the active organisation (context_active_org first). Owners and admins. People come in by org_groups_add_members. To exchange words with several people: connections_create.',
        traits: [],
      },
    },
    update: {
      summary: 'Change the name or description of a group of the organisation',
      description: 'For owners and admins. What is left out stays.',
      tool: {
        title: 'Change a group of the organisation',
        description:
          'Change name or description of a group of the active organisation (context_active_org first); what is left out stays. Owners and admins. Who is in it: org_groups_add_members, org_groups_remove_members.',
        traits: [],
      },
    },
    delete: {
      summary: 'Delete a group of the organisation; its members stay in the organisation',
      description: 'For owners and admins. It cannot be undone: a new group begins empty.',
      tool: {
        title: 'Delete a group of the organisation',
        description:
          'Delete a group of the active organisation (context_active_org first); its people stay members. Owners and admins. Not undone. Some people only: org_groups_remove_members.',
        traits: ['takes'],
      },
    },
    addMembers: {
      summary: 'Add members of the organisation to one of its groups',
      description:
        'For owners and admins. All or none: where one of them is no member of the organisation, 422 names it. Who is in it already stays.',
      tool: {
        title: 'Add members to a group',
        description:
          'Put members of the active organisation (context_active_org first) into one of its groups. Owners and admins. If one id is of no member, nothing changes. New people: org_members_bulk_invite. A connection: members_add.',
        traits: [],
      },
    },
    removeMembers: {
      summary: 'Remove members from a group; they stay in the organisation',
      description:
        'For owners and admins. All or none, as adding is; who is not in the group is passed over.',
      tool: {
        title: 'Remove members from a group',
        description:
          'Take members out of a group of the active organisation (context_active_org first), of which they stay members. Owners and admins. Undo by org_groups_add_members. Out of the organisation: org_members_suspend.',
        traits: ['takes'],
      },
    },
  },
  orgAlerts: {
    list: {
      summary: 'List the alerts of the organisation',
      description: 'Any active member may. `last_fired_at` is the last time at which a rule fired.',
      tool: {
        title: 'List alerts of the organisation',
        description:
          'Rules of the active organisation (context_active_org first) that fire when an event is frequent; last_fired_at has the time. Any member may. What happened: org_activity_list.',
      },
    },
    create: {
      summary:
        'Create an alert of the organisation: a rule that fires when so many of an event happen in a while',
      description:
        'For owners and admins. Those in `notify` get a notification and, unless they turned mails off, a mail; it fires once in a window.',
      tool: {
        title: 'Create an alert of the organisation',
        description:
          'Make a rule in the active organisation (context_active_org first): when an event happens so often within a window, the members in "notify" get a notification and a mail. Owners and admins.',
        traits: ['again', 'outside'],
      },
    },
    update: {
      summary: 'Change an alert of the organisation',
      description: 'For owners and admins. `enabled: false` rests it. What is left out stays.',
      tool: {
        title: 'Change an alert of the organisation',
        description:
          'Change a rule of the active organisation (context_active_org first), or switch it off by enabled false; what is left out stays, "notify" is replaced whole. Owners and admins.',
        traits: ['outside'],
      },
    },
    delete: {
      summary: 'Delete an alert of the organisation',
      description: 'For owners and admins. Earlier notifications stay.',
      tool: {
        title: 'Delete an alert of the organisation',
        description:
          'Delete a rule of the active organisation (context_active_org first). Owners and admins. Not undone. Off for a while: org_alerts_update with enabled false.',
        traits: ['takes'],
      },
    },
  },
  orgActivity: {
    list: {
      summary: 'List what happened in the organisation',
      description:
        'Any active member may. It names who did what and when, and never words, names of connections or what was stamped.',
      tool: {
        title: 'List what happened in the organisation',
        description:
          'Each event in the active organisation (context_active_org first), newest first: who did what to whom. Takes no dates. Any member may. Who was active between two days: org_activity_summary. Your own account: notifications_list.',
      },
    },
    summary: {
      summary: 'Count what happened in the organisation, by event and by who did it',
      description:
        'Any active member may. Counts whole days in UTC, by default thirty, a year at most.',
      tool: {
        title: 'Count events of the organisation',
        description:
          'Who was active in the active organisation (context_active_org first) between two days, as last week, and how often each event happened. Any member may. Over time: org_analytics_trends. Standing totals: org_analytics_dashboard.',
      },
    },
  },
  orgAnalytics: {
    dashboard: {
      summary: 'Read the totals of the organisation',
      description: 'Any active member may. Over all time; machines count among the members too.',
      tool: {
        title: 'Read totals of the organisation',
        description:
          'Totals of the active organisation (context_active_org first): members by state, groups, connections, checks, stamps. Any member may. Between two days: org_activity_summary.',
      },
    },
    trends: {
      summary: 'Read how often something happened in the organisation, by day or week',
      description:
        'Any active member may. Every day or week has a point, also one on which nothing happened; a year of days or ten of weeks at most.',
      tool: {
        title: 'Read a trend of the organisation',
        description:
          'How often one metric happened in the active organisation (context_active_org first), by day or week: points for a chart. Any member may. All events at once: org_activity_summary.',
      },
    },
  },
}

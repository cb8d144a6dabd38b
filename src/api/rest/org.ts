/**
 * Organisation management.
 *
 * Every route applies to the caller's active organisation and needs a token of scope `full`.
 */
import * as v from 'valibot'
import {
  Day,
  Page,
  Time,
  betweenDays,
  holderId,
  id,
  inState,
  listOf,
  name,
  named,
  pageOfThose,
  text,
} from '../fields.ts'
import type { Routes } from '../route.ts'

/** The maximum number of invitations in one request. */
export const MOST_INVITES = 500

const Count = v.pipe(v.number(), v.integer())

const MEMBER_STATES = ['invited', 'active', 'suspended'] as const

export const OrgRole = v.picklist(['owner', 'admin', 'member'])
export type OrgRole = v.InferOutput<typeof OrgRole>

export const OrgMember = named(
  'OrgMember',
  v.object({
    id: v.pipe(
      v.string(),
      v.description(
        'The account id. For an invited email address that has no account here yet: an id that begins with `mem_`.',
      ),
    ),
    user_id: v.nullable(holderId),
    email: v.pipe(
      v.nullable(v.string()),
      v.description(
        'The invited address, or the primary address of a member who joined without an invitation.',
      ),
    ),
    display_name: v.nullable(v.string()),
    kind: v.picklist(['person', 'machine']),
    role: OrgRole,
    state: v.picklist(MEMBER_STATES),
    group_ids: v.array(id('grp_')),
    joined_at: v.pipe(v.nullable(Time), v.description('null until the member is active.')),
    created_at: Time,
  }),
)
export type OrgMember = v.InferOutput<typeof OrgMember>

export const orgMembers = {
  list: {
    method: 'GET',
    path: '/api/v1/org/members',
    by: 'account',
    query: pageOfThose({ state: inState(MEMBER_STATES) }),
    reply: listOf(OrgMember),
  },
  read: {
    method: 'GET',
    path: '/api/v1/org/members/{id}',
    by: 'account',
    reply: OrgMember,
  },
  activate: {
    method: 'POST',
    path: '/api/v1/org/members/{id}/activate',
    by: 'account',
    errors: ['invalid_state'],
    reply: OrgMember,
  },
  suspend: {
    method: 'POST',
    path: '/api/v1/org/members/{id}/suspend',
    by: 'account',
    errors: ['invalid_state'],
    reply: OrgMember,
  },
  bulkInvite: {
    method: 'POST',
    path: '/api/v1/org/members/bulk-invite',
    by: 'account',
    body: v.strictObject({
      invites: v.pipe(
        v.array(
          v.strictObject({
            // The handler validates each address separately, so that an invalid one does not block
            // the others.
            email: v.pipe(v.string(), v.maxLength(1000)),
            role: v.optional(
              v.pipe(OrgRole, v.description('The role. Only an owner can invite an owner.')),
              'member',
            ),
          }),
        ),
        v.minLength(1, 'Give at least one address.'),
        v.maxLength(MOST_INVITES, `Give at most ${MOST_INVITES} addresses.`),
        v.description('Email addresses, each with a role.'),
      ),
    }),
    reply: named(
      'BulkInvited',
      v.object({
        invited: v.array(OrgMember),
        skipped: v.array(
          v.object({
            email: v.string(),
            reason: v.picklist([
              'invalid_email',
              'repeated',
              'already_member',
              'already_invited',
              'suspended',
              'role_not_allowed',
            ]),
          }),
        ),
      }),
    ),
  },
} as const satisfies Routes

export const OrgGroup = named(
  'OrgGroup',
  v.object({
    id: id('grp_'),
    name: v.string(),
    description: v.nullable(v.string()),
    member_count: Count,
    created_at: Time,
  }),
)
export type OrgGroup = v.InferOutput<typeof OrgGroup>

const GroupName = v.pipe(
  name(100),
  v.description('The name of the group, which must be unique in the organisation.'),
)
const GroupDescription = v.pipe(
  v.nullable(text(1000)),
  v.description('What the group is for; null for no description.'),
)

const GroupMembers = v.strictObject({
  member_ids: v.pipe(
    v.array(v.pipe(v.string(), v.maxLength(100))),
    v.minLength(1, 'Give at least one member.'),
    v.maxLength(MOST_INVITES, `Give at most ${MOST_INVITES} members.`),
    v.description(
      'Account ids (`acc_…`) of members of the organisation, or ids of its machines (`mch_…`).',
    ),
  ),
})

export const orgGroups = {
  list: {
    method: 'GET',
    path: '/api/v1/org/groups',
    by: 'account',
    query: Page,
    reply: listOf(OrgGroup),
  },
  create: {
    method: 'POST',
    path: '/api/v1/org/groups',
    by: 'account',
    body: v.strictObject({ name: GroupName, description: v.optional(GroupDescription) }),
    reply: OrgGroup,
    status: 201,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/org/groups/{id}',
    by: 'account',
    body: v.strictObject({
      name: v.optional(GroupName),
      description: v.optional(GroupDescription),
    }),
    reply: OrgGroup,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/org/groups/{id}',
    by: 'account',
    status: 204,
  },
  addMembers: {
    method: 'POST',
    path: '/api/v1/org/groups/{id}/members',
    by: 'account',
    body: GroupMembers,
    reply: OrgGroup,
  },
  removeMembers: {
    method: 'DELETE',
    path: '/api/v1/org/groups/{id}/members',
    by: 'account',
    body: GroupMembers,
    reply: OrgGroup,
  },
} as const satisfies Routes

/** The recorded events of an organisation. Alert rules and trends count them. */
export const OrgEvent = v.picklist([
  'member_invited',
  'member_joined',
  'member_activated',
  'member_suspended',
  'member_role_changed',
  'member_left',
  'group_created',
  'group_updated',
  'group_deleted',
  'group_members_added',
  'group_members_removed',
  'alert_created',
  'alert_updated',
  'alert_deleted',
  'alert_fired',
  'machine_created',
  'token_created',
  'token_revoked',
  'connection_created',
  'verification',
  'verification_failed',
  'stamp',
])
export type OrgEvent = v.InferOutput<typeof OrgEvent>

/** `alert_fired` is excluded, because an alert that counts its own firing would never stop. */
export const AlertEvent = v.picklist(OrgEvent.options.filter((event) => event !== 'alert_fired'))
export type AlertEvent = v.InferOutput<typeof AlertEvent>
const AlertName = v.pipe(name(100), v.description('Your name for the rule.'))
const Awaited = v.pipe(AlertEvent, v.description('The event that the rule counts.'))
const Enabled = v.pipe(
  v.boolean(),
  v.description('false: the rule counts nothing and does not fire.'),
)
const Threshold = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(1),
  v.maxValue(1_000_000),
  v.description('How many events within the window make the rule fire.'),
)
/** The length of the counting window in minutes: 1 minute to 30 days. */
const Window = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(1),
  v.maxValue(43_200),
  v.description('The length of the window, in minutes. The rule fires at most once within it.'),
)
const Notify = v.pipe(
  v.array(id('acc_')),
  v.maxLength(100, 'Give at most 100 members.'),
  v.description('The members who get a notification when the rule fires.'),
)

export const OrgAlert = named(
  'OrgAlert',
  v.object({
    id: id('alr_'),
    name: v.string(),
    event: OrgEvent,
    threshold: Count,
    window_minutes: Count,
    enabled: v.boolean(),
    notify: v.array(v.string()),
    last_fired_at: v.nullable(Time),
    created_at: Time,
  }),
)
export type OrgAlert = v.InferOutput<typeof OrgAlert>

export const orgAlerts = {
  list: {
    method: 'GET',
    path: '/api/v1/org/alerts',
    by: 'account',
    query: Page,
    reply: listOf(OrgAlert),
  },
  create: {
    method: 'POST',
    path: '/api/v1/org/alerts',
    by: 'account',
    body: v.strictObject({
      name: AlertName,
      event: Awaited,
      threshold: Threshold,
      window_minutes: Window,
      enabled: v.optional(Enabled, true),
      notify: v.optional(Notify, []),
    }),
    reply: OrgAlert,
    status: 201,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/org/alerts/{id}',
    by: 'account',
    body: v.strictObject({
      name: v.optional(AlertName),
      event: v.optional(Awaited),
      threshold: v.optional(Threshold),
      window_minutes: v.optional(Window),
      enabled: v.optional(Enabled),
      notify: v.optional(Notify),
    }),
    reply: OrgAlert,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/org/alerts/{id}',
    by: 'account',
    status: 204,
  },
} as const satisfies Routes

const Actor = v.pipe(
  v.nullable(v.object({ user_id: holderId, display_name: v.string() })),
  v.description('null if there is none, or if the account was deleted.'),
)

export const OrgActivity = named(
  'OrgActivity',
  v.object({
    id: id('act_'),
    at: Time,
    actor: Actor,
    event: OrgEvent,
    target: v.pipe(
      v.nullable(v.string()),
      v.description('The id of the object that the event is about.'),
    ),
    data: v.record(v.string(), v.string()),
  }),
)
export type OrgActivity = v.InferOutput<typeof OrgActivity>

const from = v.optional(
  v.pipe(Day, v.description('The first day, in UTC (default: 29 days before the last day).')),
)
const to = v.optional(v.pipe(Day, v.description('The last day, in UTC (default: today).')))

const Days = {
  from: v.pipe(Time, v.description('The beginning of the first day.')),
  to: v.pipe(Time, v.description('The end of the last day.')),
}

export const orgActivity = {
  list: {
    method: 'GET',
    path: '/api/v1/org/activity',
    by: 'account',
    query: pageOfThose(betweenDays),
    reply: listOf(OrgActivity),
  },
  summary: {
    method: 'GET',
    path: '/api/v1/org/activity/summary',
    by: 'account',
    query: v.strictObject({ from, to }),
    reply: named(
      'ActivitySummary',
      v.object({
        ...Days,
        by_event: v.array(v.object({ event: OrgEvent, count: Count })),
        by_actor: v.pipe(
          v.array(v.object({ actor: Actor, count: Count })),
          v.description('The 100 most active members.'),
        ),
      }),
    ),
  },
} as const satisfies Routes

const ByState = v.object({ invited: Count, active: Count, suspended: Count })

export const Metric = v.picklist(['activity', ...OrgEvent.options])
export type Metric = v.InferOutput<typeof Metric>

export const orgAnalytics = {
  dashboard: {
    method: 'GET',
    path: '/api/v1/org/analytics/dashboard',
    by: 'account',
    reply: named(
      'OrgDashboard',
      v.object({
        members: ByState,
        machines: Count,
        groups: Count,
        connections: Count,
        verifications: Count,
        stamps: Count,
        alerts_fired: Count,
        activities: Count,
      }),
    ),
  },
  trends: {
    method: 'GET',
    path: '/api/v1/org/analytics/trends',
    by: 'account',
    query: v.strictObject({
      metric: v.optional(
        v.pipe(Metric, v.description('What to count: one event, or `activity` for all events.')),
        'activity',
      ),
      from,
      to,
      bucket: v.optional(
        v.pipe(
          v.picklist(['day', 'week']),
          v.description(
            'day: count by day, for at most one year. week: count by week, for at most ten years.',
          ),
        ),
        'day',
      ),
    }),
    reply: named(
      'OrgTrend',
      v.object({
        metric: Metric,
        bucket: v.picklist(['day', 'week']),
        points: v.array(v.object({ at: Time, value: Count })),
      }),
    ),
  },
} as const satisfies Routes

/**
 * *rest*: the routes of the documented interface.
 *
 * Each resource is one group. The groups are in the order of the documentation: what a call needs
 * comes first, and what a daemon needs last.
 */
import { live } from '../live/index.ts'
import type { Table } from '../route.ts'
import { account, devices, emails, exports, sessions } from './account.ts'
import { approvals } from './approvals.ts'
import { apiTokens, token } from './api-tokens.ts'
import { chat, feedback } from './assistant.ts'
import { audit } from './audit.ts'
import { connections, members } from './connections.ts'
import { context } from './context.ts'
import { doctor } from './doctor.ts'
import { docs, openapi, tools } from './documents.ts'
import { contactWords, firstContacts } from './first-contacts.ts'
import { externalMembers, guestCodes } from './guest-codes.ts'
import { health } from './health.ts'
import { invitations } from './invitations.ts'
import { metrics } from './metrics.ts'
import { notifications } from './notifications.ts'
import { openLinkRequests, openLinks } from './open-links.ts'
import { orgActivity, orgAlerts, orgAnalytics, orgGroups, orgMembers } from './org.ts'
import { organisations } from './organisations.ts'
import { preferences } from './preferences.ts'
import { presets } from './presets.ts'
import { profile, profiles } from './profiles.ts'
import { stamp } from './stamp.ts'
import { stamps } from './stamps.ts'
import { status } from './status.ts'
import { sync } from './sync.ts'
import { tags } from './tags.ts'
import { trust, trustCards } from './trust-cards.ts'
import { verificationLog, verify } from './verify.ts'

export const rest = {
  verify,
  guestCodes,
  externalMembers,
  verificationLog,
  stamp,
  stamps,
  connections,
  members,
  invitations,
  contactWords,
  firstContacts,
  trustCards,
  trust,
  openLinks,
  openLinkRequests,
  tags,
  presets,
  profile,
  profiles,
  context,
  preferences,
  notifications,
  devices,
  approvals,
  sessions,
  emails,
  exports,
  account,
  organisations,
  orgMembers,
  orgGroups,
  orgAlerts,
  orgActivity,
  orgAnalytics,
  status,
  sync,
  doctor,
  health,
  metrics,
  token,
  apiTokens,
  audit,
  openapi,
  docs,
  tools,
  chat,
  feedback,
  ...live,
} as const satisfies Table
export type Rest = typeof rest

/**
 * The sets of tools, from which a client chooses what is listed: a model reads every tool of the
 * list before it chooses one. A set limits no rights. The scope does.
 */
import { didYouMean, nearestName } from '../../crypto/encoding/similar.ts'
import { brief, inQuotes } from '../name-text.ts'
import type { Tool, ToolGroup, ToolName } from './tool.ts'

/** The sets of each group of *rest*: its subject, and another set that is of no use without it. */
const SETS_OF = {
  verify: ['verify'],
  verificationLog: ['verify'],
  connections: ['connections'],
  members: ['connections'],
  invitations: ['invitations'],
  firstContacts: ['invitations'],
  guestCodes: ['guests'],
  externalMembers: ['guests'],
  stamp: ['stamps'],
  trustCards: ['people'],
  trust: ['people'],
  profiles: ['people'],
  openLinks: ['links'],
  openLinkRequests: ['links'],
  tags: ['tags'],
  presets: ['presets'],
  context: ['account', 'org'],
  profile: ['account'],
  preferences: ['account'],
  emails: ['account'],
  exports: ['account'],
  devices: ['devices'],
  sessions: ['devices'],
  apiTokens: ['tokens'],
  organisations: ['org'],
  orgMembers: ['org'],
  orgGroups: ['org'],
  orgAlerts: ['org'],
  orgActivity: ['org'],
  orgAnalytics: ['org'],
  notifications: ['news'],
  events: ['news'],
  status: ['status'],
  sync: ['status'],
  chat: ['assistant'],
  feedback: ['assistant'],
} as const satisfies { readonly [G in ToolGroup]: readonly string[] }

/** The set of the tools that people use most: for their calls, guests, stamps and contacts. */
export const COMMON_SET = 'common'
/** The set of all tools. */
export const ALL_SET = 'all'

const COMMON: readonly ToolName[] = [
  'verify_words',
  'verify_challenge',
  'verify_public',
  'verification_log_list',
  'guest_codes_list',
  'guest_codes_create',
  'guest_codes_delete',
  'guest_codes_send',
  'external_members_list',
  'stamp_create',
  'connections_list',
  'connections_create',
  'connections_read',
  'connections_code',
  'members_add',
  'invitations_pending',
  'invitations_approve',
  'trust_cards_list',
  'profile_read',
  'profiles_read',
  'context_read',
  'notifications_list',
  'status_read',
  'sync_run',
]

/** The names of all sets. */
export const TOOL_SETS: readonly string[] = [
  COMMON_SET,
  ALL_SET,
  ...new Set(Object.values(SETS_OF).flat()),
]

/** Returns the sets that a tool is in, those of its subject first. */
export const setsWith = ({ name, group }: Tool): readonly string[] => [
  ...SETS_OF[group as ToolGroup],
  ...((COMMON as readonly string[]).includes(name) ? [COMMON_SET] : []),
  ALL_SET,
]

/** Returns the names in a choice of sets. */
export const setsIn = (choice: string): string[] => choice.split(',')

/** Returns what is wrong with a choice of sets, as a sentence; null if nothing is. */
export function faultOfSets(choice: string): string | null {
  const unknown = setsIn(choice).find((name) => !TOOL_SETS.includes(name))
  if (unknown === undefined) return null
  const nearest = nearestName(unknown, TOOL_SETS)
  const meant = didYouMean(nearest === null ? [] : [inQuotes(nearest)])
  return `There is no set of tools ${inQuotes(brief(unknown))}.${meant} The sets are: ${TOOL_SETS.join(', ')}. Separate several with commas, without spaces.`
}

/** Returns the tools that are in a choice of sets, in their order. */
export function toolsIn(tools: readonly Tool[], choice: string): Tool[] {
  const names = setsIn(choice)
  return tools.filter((tool) => setsWith(tool).some((set) => names.includes(set)))
}

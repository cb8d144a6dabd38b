/**
 * Hints about a tool for programs: whether to ask the user first, and whether a call may be
 * repeated.
 */
import type { ListedTool } from '../agents/index.ts'
import type { Tool, WritingTool } from './tool.ts'

export type Hints = ListedTool['annotations']

/**
 * `again`: repeating the call has a further effect. `outside`: people outside the account are
 * notified, or can see the effect. `takes`: the call is destructive.
 */
type Trait = 'again' | 'outside' | 'takes'

/**
 * The traits of each tool that changes something. `takes`: existing data is lost, or the
 * operation cannot be undone. Adding data, suspending something for a while, and replacing one
 * text by another do not count.
 */
const TRAITS: Readonly<Record<WritingTool, readonly Trait[]>> = {
  sync_run: [],
  // Words are accepted once.
  verify_words: ['again'],
  // A new challenge ends the open one.
  verify_challenge: ['again'],
  verify_public: ['again', 'outside'],
  stamp_create: ['again', 'outside'],
  // An account that is already followed is rejected.
  trust_cards_create: [],
  // Confirmed keys stay confirmed.
  trust_cards_update: ['takes'],
  trust_cards_delete: ['takes'],
  connections_create: ['again', 'outside'],
  connections_update: [],
  connections_delete: ['takes', 'outside'],
  connections_favorite: [],
  // Extends the validity of an invitation that is still open.
  members_add: ['again', 'outside'],
  members_remove: ['takes', 'outside'],
  invitations_approve: ['outside'],
  invitations_decline: ['takes', 'outside'],
  invitations_withdraw: ['takes', 'outside'],
  guest_codes_create: ['again'],
  guest_codes_delete: ['takes'],
  guest_codes_send: ['again', 'outside'],
  external_members_create: ['again'],
  external_members_delete: ['takes'],
  // A name that is taken is rejected.
  tags_create: [],
  tags_update: [],
  tags_delete: ['takes'],
  tags_assign: [],
  tags_unassign: ['takes'],
  presets_create: ['again'],
  presets_update: [],
  presets_delete: ['takes'],
  presets_set_default: [],
  presets_clear_default: ['takes'],
  open_links_create: ['again', 'outside'],
  open_links_delete: ['takes', 'outside'],
  open_links_pause: ['outside'],
  open_links_resume: ['outside'],
  // The previous address stops working.
  open_links_slug: ['takes', 'outside'],
  open_link_requests_approve: ['outside'],
  // The requester is not notified.
  open_link_requests_decline: ['takes'],
  context_active_org: [],
  // A handle that was given up may be taken by another account.
  profile_update: ['takes', 'outside'],
  // Switching the public code off and on creates a new secret.
  preferences_update: ['takes', 'outside'],
  notifications_delete: ['takes'],
  notifications_read: [],
  devices_delete: ['takes'],
  sessions_delete: ['takes'],
  // Mails the link again.
  emails_create: ['again', 'outside'],
  exports_create: ['again'],
  exports_clear: ['takes'],
  organisations_create: ['again'],
  org_members_activate: ['outside'],
  org_members_suspend: ['takes', 'outside'],
  // Addresses that are already invited are skipped.
  org_members_bulk_invite: ['outside'],
  org_groups_create: [],
  org_groups_update: [],
  org_groups_delete: ['takes'],
  org_groups_add_members: [],
  org_groups_remove_members: ['takes'],
  org_alerts_create: ['again', 'outside'],
  org_alerts_update: ['outside'],
  org_alerts_delete: ['takes'],
  api_tokens_create: ['again'],
  api_tokens_delete: ['takes'],
  chat_turn: ['again', 'outside'],
  chat_rate: ['outside'],
  feedback_send: ['again', 'outside'],
}

/**
 * Returns the hints of a tool. A tool that only reads changes nothing, may be repeated, and is
 * not visible to others.
 */
export function hintsOf({ name, route }: Tool): Hints {
  const traits: readonly Trait[] = route.method === 'GET' ? [] : TRAITS[name as WritingTool]
  return {
    readOnlyHint: route.method === 'GET',
    destructiveHint: traits.includes('takes'),
    idempotentHint: !traits.includes('again'),
    openWorldHint: traits.includes('outside'),
  }
}

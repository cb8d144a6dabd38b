/** What a program may know of a tool before it calls it: whether to ask the person first, and whether to try again. */
import type { Tool as Listed } from '../agents/index.ts'
import type { Tool, WritingTool } from './tool.ts'

export type Hints = Listed['annotations']

/** `again`: the same call once more changes something once more. `outside`: people outside the account hear of it, or may see it. */
type Trait = 'again' | 'outside' | 'takes'

/**
 * What there is to say of each tool that changes something. `takes`: what was there before is gone, or what is done cannot be undone;
 * what is there in addition takes nothing, and what is held back for a while is not gone. A text that replaces another does not either.
 */
const TRAITS: Readonly<Record<WritingTool, readonly Trait[]>> = {
  sync_run: [],
  // Words count once.
  verify_words: ['again'],
  // A new one ends the open one.
  verify_challenge: ['again'],
  verify_public: ['again', 'outside'],
  stamp_create: ['again', 'outside'],
  // Who is followed already is refused.
  trust_cards_create: [],
  // Keys once confirmed stay so.
  trust_cards_update: ['takes'],
  trust_cards_delete: ['takes'],
  connections_create: ['again', 'outside'],
  connections_update: [],
  connections_delete: ['takes', 'outside'],
  connections_favorite: [],
  // An invitation that awaits its answer is good for longer.
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
  // A name that is taken is refused.
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
  // The address that was handed out leads nowhere.
  open_links_slug: ['takes', 'outside'],
  open_link_requests_approve: ['outside'],
  // Whoever asked is not told.
  open_link_requests_decline: ['takes'],
  context_active_org: [],
  // A handle that was given up may become another's.
  profile_update: ['takes', 'outside'],
  // Off and on again, the public code has a new secret.
  preferences_update: ['takes', 'outside'],
  notifications_delete: ['takes'],
  notifications_read: [],
  devices_delete: ['takes'],
  sessions_delete: ['takes'],
  // The link is mailed again.
  emails_create: ['again', 'outside'],
  exports_create: ['again'],
  exports_clear: ['takes'],
  organisations_create: ['again'],
  org_members_activate: ['outside'],
  org_members_suspend: ['takes', 'outside'],
  // Who is invited already is skipped.
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

/** What of a tool a program may know: of one that only reads, that it changes nothing, however often, and nobody hears of it. */
export function hintsOf({ name, route }: Tool): Hints {
  const traits: readonly Trait[] = route.method === 'GET' ? [] : TRAITS[name as WritingTool]
  return {
    readOnlyHint: route.method === 'GET',
    destructiveHint: traits.includes('takes'),
    idempotentHint: !traits.includes('again'),
    openWorldHint: traits.includes('outside'),
  }
}

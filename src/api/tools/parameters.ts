/**
 * The descriptions of ids in tool arguments. Each description names the tool that lists the ids.
 */
import type { ToolGroup } from './tool.ts'
import type { Rest } from '../rest/index.ts'

type Paths = {
  [G in ToolGroup]: {
    [R in keyof Rest[G]]: Rest[G][R] extends { path: infer P } ? P : never
  }[keyof Rest[G]]
}[ToolGroup]

/** For each parameter in a path, the part of the path before it. */
type Before<P, Done extends string = ''> = P extends `${infer Start}/{${infer Name}}${infer Rest}`
  ? `${Done}${Start}` | Before<Rest, `${Done}${Start}/{${Name}}`>
  : never

/** The descriptions of path parameters, by the part of the path before them. */
export const IN_PATH: Readonly<Record<Before<Paths>, string>> = {
  '/api/v1/trust-cards': 'user_id of a person you follow (acc_…), from trust_cards_list.',
  '/api/v1/connections': 'Id of a connection (con_…), from connections_list.',
  '/api/v1/connections/{id}/members':
    'Id of a member (acc_…, or inv_… for an invited email address), from connections_read. To leave, give your own id from context_read.',
  '/api/v1/invitations':
    'Id of an invitation (inv_…), from invitations_pending or invitations_list.',
  '/api/v1/guest-codes': 'Id of a guest code (gst_…), from guest_codes_list.',
  '/api/v1/external-members':
    'Id of a person without an account (ext_…), from external_members_list.',
  '/api/v1/tags': 'Id of a tag (tag_…), from tags_list.',
  '/api/v1/tags/{id}/assign': 'Id of a connection (con_…), from connections_list.',
  '/api/v1/presets': 'Id of a preset (pre_…), from presets_list.',
  '/api/v1/open-links': 'Id of an open link (lnk_…), from open_links_list.',
  '/api/v1/open-links/requests': 'Id of a request (req_…), from open_link_requests_list.',
  '/api/v1/profiles':
    'Id of an account (acc_…): a user_id from connections_list or trust_cards_list, or a member_id from verify_words.',
  '/api/v1/devices': 'Id of a device (dev_…), from devices_list.',
  '/api/v1/sessions': 'Id of a session (ses_…), from sessions_list.',
  '/api/v1/exports': 'Id of an export (exp_…), from exports_list.',
  '/api/v1/org/members':
    'Id of a member of the organisation (acc_…, or mem_… for a person who has not joined), from org_members_list.',
  '/api/v1/org/groups': 'Id of a group (grp_…), from org_groups_list.',
  '/api/v1/org/alerts': 'Id of an alert (alr_…), from org_alerts_list.',
  '/api/v1/api-tokens': 'Id of a token (tok_…), from api_tokens_list.',
}

/** The descriptions of ids in queries and bodies, by name. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  user_id:
    'Id of an account (acc_…), from connections_list, trust_cards_list or a profile. Give this or else email.',
  connection_id:
    'Id of a connection (con_…), from connections_list. If left out, any of your connections.',
  challenge_id: 'Id of a challenge (chl_…), from verify_challenge. A challenge allows one try.',
  listener:
    'Id of the member who gave the challenge (acc_…), from connections_read. Needed if the connection has more than two members.',
  preset_id:
    'Id of a preset (pre_…), from presets_list. If left out, the default preset is used; null uses no preset.',
  external_member_id:
    'Id of the person without an account who gets the guest code (ext_…), from external_members_list.',
  tag_id: 'Id of a tag that the connections have (tag_…), from tags_list.',
  tag_ids: 'Ids of the tags that a new connection gets (tag_…), from tags_list.',
  organisation_id:
    'Id of an organisation (org_…), from context_read; null returns to the personal context.',
  id: 'Ids of notifications (ntf_…), from notifications_list. If left out, ALL notifications.',
  ids: 'Ids of notifications (ntf_…), from notifications_list. If left out, all notifications.',
  member_ids:
    'Ids of active or suspended members of the organisation (acc_…), from org_members_list.',
  notify:
    'Ids of the members who are notified when the rule fires (acc_…), from org_members_list. Replaces the whole list.',
  conversation_id:
    'To continue a conversation: its id (cnv_…), from an answer of chat_turn. If left out, a new conversation begins.',
  turn_id: 'Id of the answer (trn_…), from that answer of chat_turn.',
}

/** Tools for guests, and for the tags and presets of connections. */
import type { Texts } from './text.ts'

export const arranging: Texts<'guestCodes' | 'externalMembers' | 'tags' | 'presets'> = {
  guest_codes_list: {
    title: 'List guest codes',
    description:
      'Codes for people without an account, with your words of this minute to say to each guest ("code"). What a guest says you check with verify_words.',
  },
  guest_codes_create: {
    title: 'Create a guest code',
    description:
      'Give a person without an account words for a while (by default a week). Answers a link (url), shown only now, to hand over in private; nothing is sent: guest_codes_send mails it. With an account: connections_create.',
  },
  guest_codes_delete: {
    title: 'Revoke a guest code',
    description:
      'End a guest code at once: its link and words are good for nothing from then on. It stays listed. Not undone: create another.',
  },
  guest_codes_qr: {
    title: 'Show a guest code as a QR image',
    description:
      'The link of an active guest code as a QR image, for the guest to scan. Everyone who sees it has the link. Only on the device that made the code (secret_here), with scope write.',
  },
  guest_codes_send: {
    title: 'Mail a guest code',
    description:
      'Mail the link of an active guest code to "to", or to the address of its external member. Each call sends a mail, which is not called back, and shows the account server the secret. Only on the device that made the code.',
  },
  external_members_list: {
    title: 'List people without an account',
    description:
      'Address book of people without an account, for guest codes. Members of connections: connections_list; of the organisation: org_members_list.',
  },
  external_members_create: {
    title: 'Keep a person without an account',
    description:
      'Note a person without an account (name, email, phone) to make guest codes for. The guest sees the name on the page of the code. Nothing is sent and no code is made: next is guest_codes_create with external_member_id.',
  },
  external_members_delete: {
    title: 'Delete a person without an account',
    description:
      'Forget a person without an account and revoke all guest codes that are for them. Not undone. One code alone: guest_codes_delete.',
  },
  tags_list: {
    title: 'List tags',
    description:
      'Your labels for connections, with how many bear each. Only you see them. Which connections: tag_ids in connections_list. Groups of people in the organisation: org_groups_list.',
  },
  tags_create: {
    title: 'Create a tag',
    description:
      'Make a label for connections; its name must be new among your tags. It is on no connection until tags_assign.',
  },
  tags_update: {
    title: 'Rename a tag or change its colour',
    description:
      'Change the name or colour of a tag; what is left out stays. The connections that bear it keep it.',
  },
  tags_delete: {
    title: 'Delete a tag',
    description:
      'Delete a tag and take it off all connections and presets, which stay. Not undone. Off one connection only: tags_unassign.',
  },
  tags_assign: {
    title: 'Put a tag on a connection',
    description:
      'Put one of your tags (id) on one of your connections (cid). Only you see it. Undo by tags_unassign.',
  },
  tags_unassign: {
    title: 'Take a tag off a connection',
    description:
      'Take one tag (id) off one connection (cid); both stay. Undo by tags_assign. Off all connections: tags_delete.',
  },
  presets_list: {
    title: 'List presets',
    description:
      'What new connections may begin with: tags, favourite, message and lifetime of invitations; is_default marks the one used by default.',
  },
  presets_create: {
    title: 'Create a preset',
    description:
      'Keep settings for new connections: connections_create takes them by preset_id. Not the default until presets_set_default. Connections that exist do not change.',
  },
  presets_update: {
    title: 'Change a preset',
    description:
      'Change the settings of a preset; what is left out stays. Connections made with it stay as they are; their next invitations use the changed preset.',
  },
  presets_delete: {
    title: 'Delete a preset',
    description:
      'Delete a preset; connections made with it stay as they are. Not undone. To keep it and only stop its being the default: presets_clear_default.',
  },
  presets_set_default: {
    title: 'Make a preset the default',
    description:
      'From now on new connections begin with this preset by default; it replaces another default. Undo by presets_clear_default.',
  },
  presets_clear_default: {
    title: 'Have no default preset',
    description:
      'From now on new connections begin without a preset by default; takes nothing, and no preset is deleted. Undo by presets_set_default.',
  },
}

/** Tools for connections, their members, and requests to join. */
import type { Texts } from './text.ts'

export const connecting: Texts<
  'connections' | 'members' | 'invitations' | 'firstContacts' | 'openLinks' | 'openLinkRequests'
> = {
  connections_list: {
    title: 'List connections',
    description:
      'Your connections, each with name, members, tags and state. Some names are only what members call themselves. The ids here (con_…) and of members (acc_…) are what other tools take. Members of the organisation: org_members_list.',
  },
  connections_create: {
    title: 'Create a connection',
    description:
      'Begin to exchange words with people who have an account: makes a connection and mails invitations. They are in once they approved and a device of yours synced. Into one that exists: members_add. For people without an account: guest_codes_create.',
  },
  connections_read: {
    title: 'Read a connection',
    description:
      'One connection: its members and their roles, state, tags, whether its secret is on this device. The words to say: connections_code.',
  },
  connections_update: {
    title: 'Rename a connection',
    description:
      'Change what you call a connection, or whether it is a favourite. Only you see either. Its members: members_add, members_remove; its tags: tags_assign.',
  },
  connections_delete: {
    title: 'Leave or end a connection',
    description:
      'Leave a connection, or end it if it has no other members; the others are notified and its secret is wiped here. Not undone: only a new invitation leads back. An only owner among others cannot leave. To remove another: members_remove.',
  },
  connections_code: {
    title: 'Read your words to say now',
    description:
      'Your own three words of this minute for a connection, to SAY to the others, first if you place the call; if they gave a word, with challenge. Never what to expect to hear: that is verify_words. To a guest: guest_codes_list. To a stranger: profile_read.',
  },
  connections_favorite: {
    title: 'Mark a connection as a favourite',
    description:
      'Mark one connection as your favourite, or with favorite false no longer. Only you see it. Labels of your own: tags_assign.',
  },
  members_add: {
    title: 'Invite a person to a connection',
    description:
      'Invite one person to a connection that you own; give exactly one of email and user_id. They get a mail. Again before they answer renews the invitation without a mail. A new connection: connections_create. The organisation: org_members_bulk_invite.',
  },
  members_remove: {
    title: 'Remove a member from a connection',
    description:
      'Take a member out of a connection that you own; with your own id, leave it. They are notified, and the rest get a new secret. Not undone: only a new invitation leads back. Invited by email, not in yet: invitations_withdraw.',
  },
  invitations_list: {
    title: 'List all invitations',
    description:
      'Invitations to connections that you received and sent, answered and ended ones too. Those alone that await an answer: invitations_pending.',
  },
  invitations_pending: {
    title: 'List invitations that await an answer',
    description:
      'Unanswered invitations to connections: received, for invitations_approve or _decline, and sent, for invitations_withdraw. Requests by an open link: open_link_requests_list.',
  },
  invitations_approve: {
    title: 'Approve a received invitation',
    description:
      'Accept an invitation that you received, once the person knows by another way that it is real. The connection is there after the inviter’s device synced, then sync_run here. Leave by connections_delete. By your open link: open_link_requests_approve.',
  },
  invitations_decline: {
    title: 'Decline a received invitation',
    description:
      'Refuse an invitation that you received; the inviter is notified. Not undone: it takes another invitation. To take back one that you sent: invitations_withdraw.',
  },
  invitations_withdraw: {
    title: 'Withdraw a sent invitation',
    description:
      'Take back an invitation that you sent and that was not approved yet. Not undone: invite again with members_add. One that you received: invitations_decline. A member already: members_remove.',
  },
  first_contacts_list: {
    title: 'List first contacts by four words',
    description:
      'What came of first contacts by four words on this device: open, confirmed, or failed and why. The words themselves are never shown to tools; people make and type them by the command line. Who is confirmed: trust_cards_list.',
  },
  open_links_list: {
    title: 'List open links',
    description:
      'Your open links: pages at a public address on which people ask to connect with you. Who asked: open_link_requests_list.',
  },
  open_links_create: {
    title: 'Create an open link',
    description:
      'Publish a page on which people ask to connect with you; answers its url to hand out. No one joins without open_link_requests_approve. To invite a person you can name: connections_create.',
  },
  open_links_suggest: {
    title: 'Propose a free slug',
    description:
      'A slug that is free now, for open_links_create or open_links_slug. Creates and reserves nothing.',
  },
  open_links_delete: {
    title: 'Delete an open link',
    description:
      'Take an open link down for good, with the requests that came by it. Not undone. For a while only: open_links_pause.',
  },
  open_links_pause: {
    title: 'Pause an open link',
    description:
      'Let the page of an open link take no requests until open_links_resume. Requests that came by it stay.',
  },
  open_links_resume: {
    title: 'Resume an open link',
    description: 'Let the page of a paused open link take requests again.',
  },
  open_links_slug: {
    title: 'Give an open link a new address',
    description:
      'Change the slug, and with it the public address. The old address ends at once, also where it was handed out, and others may take it. A free one: open_links_suggest.',
  },
  open_link_requests_list: {
    title: 'List requests to connect',
    description:
      'Who asked to connect by your open links and confirmed their mailbox; only that is proven, the name is as they wrote it. Invitations by people who know you: invitations_pending.',
  },
  open_link_requests_approve: {
    title: 'Approve a request to connect',
    description:
      'Approve a request by an open link: makes a connection and mails them an invitation. Takes the keys of this device. An approved request cannot be declined; the connection is ended by connections_delete.',
  },
  open_link_requests_decline: {
    title: 'Decline a request to connect',
    description:
      'Refuse a request by an open link. Its sender gets no message. Not undone: a declined request cannot be approved.',
  },
}

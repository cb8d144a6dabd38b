/** The texts of `../invitations.ts` and `../first-contacts.ts`. */
import type { Texts } from './text.ts'

export const invitationTexts: Texts<'invitations' | 'contactWords' | 'firstContacts'> = {
  invitations: {
    list: {
      summary: 'List invitations in both directions',
      description:
        'All that were sent and received, answered ones included. Whether an invited mailbox has an account is hidden until it approves.',
      onAccountServer:
        'Names come with `name_source: server`. With `state=declined`, those that were declined on any device of the account.',
      tool: {
        title: 'List all invitations',
        description:
          'Invitations to connections that you received and sent, answered and ended ones too. Those alone that await an answer: invitations_pending.',
      },
    },
    pending: {
      summary: 'List pending invitations',
      description: 'Those that wait: received ones for your answer, sent ones for that of others.',
      tool: {
        title: 'List invitations that await an answer',
        description:
          'Unanswered invitations to connections: received, for invitations_approve or _decline, and sent, for invitations_withdraw. Requests by an open link: open_link_requests_list.',
      },
    },
    approve: {
      summary: 'Approve an invitation',
      description:
        'For the account that was invited. The device that invited takes you in at its next sync; then the connection is in your list. Approving twice changes nothing. The consent is for the inviter and the connection that this daemon listed for the invitation; if the account server names others, it is `backend_error` with `state` `other_invitation`, and nothing is signed. `invalid_state` with `state` `read_again`, after more than 10,000 were listed: the message names connection and inviter, and approving again is for these. The answer names the inviter. With `words`, the two devices first prove to each other that both have the same four words; the invitation is approved, and the inviter’s trust card confirmed, only if they do. That takes the inviter’s device, which must answer within 15 minutes: the request waits ten seconds, and answers `pending` while this device goes on asking. Refused as `invalid_state`: `wrong_words`, `words_expired`, `words_used`, `no_words`, `ad_mismatch`, `message_refused`, `too_many_tries` (three in 15 minutes), `under_way`.',
      tool: {
        title: 'Approve a received invitation',
        description:
          'Accept an invitation that you received, once the person knows by another way that it is real. The connection is there after the inviter’s device synced, then sync_run here. Leave by connections_delete. By your open link: open_link_requests_approve.',
        traits: ['outside'],
      },
    },
    decline: {
      summary: 'Decline an invitation',
      description:
        'For the invited account; the inviter gets a notification. It cannot be approved any more: joining takes another invitation.',
      onAccountServer: 'Drops the consents that the account gave for the connection.',
      tool: {
        title: 'Decline a received invitation',
        description:
          'Refuse an invitation that you received; the inviter is notified. Not undone: it takes another invitation. To take back one that you sent: invitations_withdraw.',
        traits: ['takes', 'outside'],
      },
    },
    withdraw: {
      summary: 'Withdraw an invitation that was sent',
      description:
        'For its sender, as long as it waits. It cannot be approved any more; the link in its mail stops working.',
      onAccountServer: 'Also an invitation that was approved, until the account is a member.',
      tool: {
        title: 'Withdraw a sent invitation',
        description:
          'Take back an invitation that you sent and that was not approved yet. Not undone: invite again with members_add. One that you received: invitations_decline. A member already: members_remove.',
        traits: ['takes', 'outside'],
      },
    },
  },
  contactWords: {
    create: {
      summary: 'Make four words for an invitation that was sent',
      description:
        'Words that were made before for it end. The words are good for one try and for 15 minutes, and this device alone answers the one who types them, so the daemon must run. Say them in person or on a call that you placed; never write them.',
    },
  },
  firstContacts: {
    list: {
      summary: 'List the first contacts of this device',
      description:
        'What is open, and what ended within a day, newest first. The words are never shown here.',
      tool: {
        title: 'List first contacts by four words',
        description:
          'What came of first contacts by four words on this device: open, confirmed, or failed and why. The words themselves are never shown to tools; people make and type them by the command line. Who is confirmed: trust_cards_list.',
      },
    },
  },
}

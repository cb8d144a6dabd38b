/** The texts of `../invitations.ts` and `../first-contacts.ts`. */
import type { Texts } from './text.ts'

export const invitationTexts: Texts<'invitations' | 'contactWords' | 'firstContacts'> = {
  invitations: {
    list: {
      summary: 'List invitations in both directions',
      description:
        'Lists all invitations that were sent and received, including answered ones. You cannot see whether an invited email address has an account until its owner approves.',
      onAccountServer:
        'Names have `name_source: server`. `state=declined` lists the invitations that were declined on any device of the account.',
      tool: {
        title: 'List all invitations',
        description:
          'Lists invitations to connections that you received or sent, including answered and ended ones. For only those that await an answer, use invitations_pending.',
      },
    },
    pending: {
      summary: 'List pending invitations',
      description:
        'Lists received invitations that wait for your answer, and sent invitations that wait for the answer of the invited person.',
      tool: {
        title: 'List invitations that await an answer',
        description:
          'Lists unanswered invitations to connections. Answer received ones with invitations_approve or invitations_decline; take back sent ones with invitations_withdraw. For requests through an open link, use open_link_requests_list.',
      },
    },
    approve: {
      summary: 'Approve an invitation',
      description:
        'Only the invited account may do this. The inviting device adds you within seconds if it is connected, or else at its next sync; then the connection is in your list. Approving twice changes nothing. The answer names the inviter.\n\nThe consent is valid only for the inviter and the connection that this daemon listed for the invitation. If the account server names others, the call fails with `backend_error`, `state` `other_invitation`, and nothing is signed. After more than 10,000 invitations were listed, the call can fail with `invalid_state`, `state` `read_again`. The message then names the connection and the inviter; approve again if you accept them.\n\nWith `words`, the two devices first prove to each other that both have the same four words. Only then is the invitation approved and the inviter’s trust card confirmed. The inviter’s device must answer within 15 minutes. The request waits ten seconds, then returns `pending` while this device continues to ask. It can fail with `invalid_state` and the `state` `wrong_words`, `words_expired`, `words_used`, `no_words`, `ad_mismatch`, `message_refused`, `too_many_tries` (three in 15 minutes) or `under_way`.',
      tool: {
        title: 'Approve a received invitation',
        description:
          'Accept a received invitation, once your user is sure by other means that it is real. The connection appears after the inviter’s device has synced; then call sync_run. Undo with connections_delete. Requests through an open link: open_link_requests_approve.',
        traits: ['outside'],
      },
    },
    decline: {
      summary: 'Decline an invitation',
      description:
        'Only the invited account may do this. The inviter gets a notification. A declined invitation cannot be approved: you need a new invitation to join.',
      onAccountServer: 'Deletes the consents that the account gave for the connection.',
      tool: {
        title: 'Decline a received invitation',
        description:
          'Decline an invitation that you received. The inviter is notified. Cannot be undone: you need a new invitation to join. To take back an invitation that you sent, use invitations_withdraw.',
        traits: ['takes', 'outside'],
      },
    },
    withdraw: {
      summary: 'Withdraw an invitation that was sent',
      description:
        'Only its sender may do this, while the invitation is unanswered. It can then no longer be approved, and the link in its mail stops working.',
      onAccountServer: 'Can also withdraw an approved invitation until the account is a member.',
      tool: {
        title: 'Withdraw a sent invitation',
        description:
          'Take back an invitation that you sent and that was not approved yet. Cannot be undone; invite again with members_add. For a received invitation, use invitations_decline; for a person who is already a member, members_remove.',
        traits: ['takes', 'outside'],
      },
    },
  },
  contactWords: {
    create: {
      summary: 'Make four words for an invitation that was sent',
      description:
        'Earlier words for the same invitation become invalid. The words are valid for one try within 15 minutes. Only this device can answer when the invited person types them, so keep the daemon running. Say the words in person or on a call that you placed; never write them.',
    },
  },
  firstContacts: {
    list: {
      summary: 'List the first contacts of this device',
      description:
        'Lists open first contacts, and those that ended within the last day, newest first. The words are never shown here.',
      tool: {
        title: 'List first contacts by four words',
        description:
          'Lists first contacts by four words on this device: open, confirmed, or failed with the reason. Tools never see the words; people create and type them on the command line. To see which keys are confirmed, use trust_cards_list.',
      },
    },
  },
}

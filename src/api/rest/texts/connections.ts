/** The texts of `../connections.ts`. */
import type { Texts } from './text.ts'

export const connectionTexts: Texts<'connections' | 'members'> = {
  connections: {
    list: {
      summary: 'List connections',
      description:
        'Lists the connections in which you are a member, with their members and tags, and whether this device has the secret. `name_source` is the source of a member’s name; `self` means that only the member chose the name and you have not confirmed their keys.',
      onAccountServer:
        'The account server returns `secret_here: false`, `suspended: null`, `replaced_by: null`, and names with `name_source: server`. The members are a hint: the roster decides. A device reads a connection again when its `updated_at` has changed.',
      tool: {
        title: 'List connections',
        description:
          'Lists your connections, each with name, members, tags and state. Some names are unconfirmed, chosen by the members themselves. Other tools accept the ids of connections (con_…) and members (acc_…). Members of the organisation: org_members_list.',
      },
    },
    create: {
      summary: 'Create a connection',
      description:
        'Creates the secret on this device, seals it to the devices of your account, and invites the named people, by mail if you give an email address. You are the owner of the connection. With `words: true`, the answer contains four words for each invitation. They are shown only once: say them in person or on a call that you placed, within 15 minutes. A repeated request with the same `Idempotency-Key` returns no words.',
      tool: {
        title: 'Create a connection',
        description:
          'Create a connection to exchange words with people who have an account, and mail invitations. They become members once they have approved and a device of yours has synced. Existing connection: members_add. People without an account: guest_codes_create.',
        traits: ['again', 'outside'],
      },
    },
    read: {
      summary: 'Read a connection',
      description:
        'Returns one connection with its members. `secret_here: false` means that this device cannot make or check its words yet.',
      onAccountServer: 'Differs from the answer of a daemon in the same fields as the list.',
      tool: {
        title: 'Read a connection',
        description:
          'One connection: its members and their roles, state, tags, whether its secret is on this device. The words to say: connections_code.',
      },
    },
    update: {
      summary: 'Rename a connection or mark it as a favourite',
      description:
        'Only you see this name and the favourite mark; other members have their own. Fields that are left out do not change.',
      onAccountServer: 'The name and the favourite mark belong to the calling account.',
      tool: {
        title: 'Rename a connection',
        description:
          'Change your name for a connection, or whether it is a favourite. Only you see either. For its members, use members_add and members_remove; for its tags, tags_assign.',
        traits: [],
      },
    },
    delete: {
      summary: 'Delete a connection',
      description:
        'If the connection has other members, you leave it, and need an invitation to come back. If it has no other members, or if you are its only owner, it ends for everyone: the other members see it as `ended` and must delete it themselves. The secret is deleted from this device.',
      onAccountServer:
        'Ends a connection that has no other members, and removes an ended connection from the list. In any other case it returns 409 `no_device`: post `leave` or `end` to the roster instead.',
      tool: {
        title: 'Leave or end a connection',
        description:
          'Leave a connection. If you are its only owner or only member, it ends for everyone. The others are notified, and its secret is deleted here. Cannot be undone: you need a new invitation to come back. To remove another member, use members_remove.',
        traits: ['takes', 'outside'],
      },
    },
    code: {
      summary: 'Read the words to say now',
      description:
        'Returns your own words for this minute. The person who placed the call says theirs first. The words of other members are never shown: check the words that you hear with `POST /api/v1/verify`. With `challenge`, the words are valid only for the `listener` who said the challenge word, and for the `purpose`; show the purpose as the answer has it. Refused with `state: clock_uncertain` while the clock is known to have moved: sync, then try again.',
      tool: {
        title: 'Read your words to say now',
        description:
          'Your own three words for this minute in a connection, to SAY to the others. If you placed the call, say them first; if they gave a word, pass it as challenge. Never what to expect to hear: check that with verify_words. Guests: guest_codes_list. Strangers: profile_read.',
      },
    },
    favorite: {
      summary: 'Mark or unmark a connection as a favourite',
      description:
        'Does the same as changing `favorite`, for clients that have a button for it. Without a body, it marks the connection. Only you see the mark.',
      tool: {
        title: 'Mark a connection as a favourite',
        description:
          'Mark one connection as your favourite; with favorite false, remove the mark. Only you see it. For your own labels, use tags_assign.',
        traits: [],
      },
    },
    rotate: {
      summary: 'Give a connection a new secret',
      description:
        'Any member may do this. The words of the old secret no longer verify. Other members get the new secret at their next sync, within seconds if they are connected; until then, their words do not verify here. A rotation that is due, because a member left or a device was revoked, happens without this call.',
      tool: {
        title: 'Give a connection a new secret',
        description:
          'Replace the secret of a connection, if it may have leaked. Old words no longer verify, and the words of each other member fail until their device has synced. Not needed after a member was removed or a device revoked: that does it too.',
        traits: ['again', 'outside'],
      },
    },
  },
  members: {
    add: {
      summary: 'Invite a member to a connection',
      description:
        'Only owners may do this. An invited email address gets a mail and does not need an account yet. When a person has approved, the inviting device adds them within seconds if it is connected, or else at its next sync. The limit is 200 members, including invited ones.',
      onAccountServer:
        'Stores the invitation and mails it. The invited account becomes a member when a device of the inviter posts an `add` with the consent of that account. Until then `GET /device/v1/duties` lists the account.',
      tool: {
        title: 'Invite a person to a connection',
        description:
          'Invite one person to a connection that you own; give exactly one of email and user_id. They get a mail. Repeating the call before they answer extends the invitation without a mail. New connection: connections_create. Organisation: org_members_bulk_invite.',
        // `again`: if the invitation is still open, its validity is extended.
        traits: ['again', 'outside'],
      },
    },
    remove: {
      summary: 'Remove a member from a connection, or withdraw their invitation',
      description:
        'Owners may remove any member. `mid` is the `id` of a member in the connection; if that person is only invited, the invitation is withdrawn. Members may remove themselves to leave, except the only owner while there are other members. The remaining members get a new secret immediately, so that the words of the removed member are no longer valid. The removed member needs an invitation to come back.',
      onAccountServer:
        'Withdraws the invitation of a person who is not a member yet. For a member it returns 409 `no_device`: post `remove` or `leave` to the roster instead.',
      tool: {
        title: 'Remove a member from a connection',
        description:
          'Remove a member from a connection that you own; with your own id, leave it. They are notified, and the others get a new secret. Cannot be undone: they need a new invitation to come back. If they are not a member yet, use invitations_withdraw.',
        traits: ['takes', 'outside'],
      },
    },
    role: {
      summary: 'Make a member an owner of a connection, or an owner an ordinary member',
      description:
        'Only owners may do this. Owners invite and remove members, change roles, and end the connection. The connection must keep at least one owner.',
      tool: {
        title: 'Change the role of a member',
        description:
          'Make a member of a connection that you own an owner, or an owner a member. An owner can remove you and end the connection. For the role in an organisation, use org_members_bulk_invite.',
        // An owner can remove the account that made them one.
        traits: ['takes', 'outside'],
      },
    },
  },
}

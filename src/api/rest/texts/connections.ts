/** The texts of `../connections.ts`. */
import type { Texts } from './text.ts'

export const connectionTexts: Texts<'connections' | 'members'> = {
  connections: {
    list: {
      summary: 'List connections',
      description:
        'Those in which you are a member, with members, tags and whether this device holds the secret. `name_source` is the source of a member’s name: `self` is a claim.',
      onAccountServer:
        'The account server answers `secret_here: false`, `replaced_by: null`, and names with `name_source: server`. The members are a hint: the roster decides. A connection is read anew when its `updated_at` differs.',
      tool: {
        title: 'List connections',
        description:
          'Your connections, each with name, members, tags and state. Some names are only what members call themselves. The ids here (con_…) and of members (acc_…) are what other tools take. Members of the organisation: org_members_list.',
      },
    },
    create: {
      summary: 'Create a connection',
      description:
        'Makes the secret on this device, seals it to the devices of the account, and invites the named people, by mail if a mailbox is given. You are its owner. With `words: true`, four words come back for each invitation, this once: say them in person or on a call that you placed, within 15 minutes. A repetition under the same `Idempotency-Key` has none.',
      tool: {
        title: 'Create a connection',
        description:
          'Begin to exchange words with people who have an account: makes a connection and mails invitations. They are in once they approved and a device of yours synced. Into one that exists: members_add. For people without an account: guest_codes_create.',
        traits: ['again', 'outside'],
      },
    },
    read: {
      summary: 'Read a connection',
      description:
        'One connection with its members. `secret_here: false` means that this device cannot make or check its words yet.',
      onAccountServer: 'As in the list.',
      tool: {
        title: 'Read a connection',
        description:
          'One connection: its members and their roles, state, tags, whether its secret is on this device. The words to say: connections_code.',
      },
    },
    update: {
      summary: 'Rename a connection or mark it as a favourite',
      description:
        'Name and favourite are yours alone: the other members keep theirs. What is left out stays.',
      onAccountServer: 'The name and the favourite are those of the account that asks.',
      tool: {
        title: 'Rename a connection',
        description:
          'Change what you call a connection, or whether it is a favourite. Only you see either. Its members: members_add, members_remove; its tags: tags_assign.',
        traits: [],
      },
    },
    delete: {
      summary: 'Delete a connection',
      description:
        'If it has other members, you leave, and need an invitation to come back. If it has none, or if you are its only owner, it ends for all: the others see it as `ended` and delete it themselves. The secret is deleted here.',
      onAccountServer:
        'Ends a connection without another member, and deletes one that was ended from the list. Otherwise 409 `no_device`: post `leave` or `end` to its roster.',
      tool: {
        title: 'Leave or end a connection',
        description:
          'Leave a connection, or end it if it has no other members; the others are notified and its secret is wiped here. Not undone: only a new invitation leads back. An only owner among others cannot leave. To remove another: members_remove.',
        traits: ['takes', 'outside'],
      },
    },
    code: {
      summary: 'Read the words to say now',
      description:
        'Your own words of this minute; the caller speaks first. The words of the others are never shown: check those that you hear with `POST /api/v1/verify`. With `challenge`, the words for one `listener` who said that word, and for the `purpose`, to be shown as it is answered. Refused with `state: clock_uncertain` while the clock is known to have moved: sync, and ask again.',
      tool: {
        title: 'Read your words to say now',
        description:
          'Your own three words of this minute for a connection, to SAY to the others, first if you place the call; if they gave a word, with challenge. Never what to expect to hear: that is verify_words. To a guest: guest_codes_list. To a stranger: profile_read.',
      },
    },
    favorite: {
      summary: 'Mark a connection as a favourite, or not',
      description:
        'The same as changing `favorite`, for clients that have a button: without a body it marks. Others do not see it.',
      tool: {
        title: 'Mark a connection as a favourite',
        description:
          'Mark one connection as your favourite, or with favorite false no longer. Only you see it. Labels of your own: tags_assign.',
        traits: [],
      },
    },
  },
  members: {
    add: {
      summary: 'Invite a member to a connection',
      description:
        'For owners. A mailbox gets a mail and needs no account yet; the inviting device adds each person who approves, at its next sync. 200 members are the most, invited ones included.',
      onAccountServer:
        'Stores the invitation and mails it. The account is in the connection once a device of the inviter posts an `add` with its consent; until then `GET /device/v1/duties` names it.',
      tool: {
        title: 'Invite a person to a connection',
        description:
          'Invite one person to a connection that you own; give exactly one of email and user_id. They get a mail. Again before they answer renews the invitation without a mail. A new connection: connections_create. The organisation: org_members_bulk_invite.',
        // `again`: if the invitation is still open, its validity is extended.
        traits: ['again', 'outside'],
      },
    },
    remove: {
      summary: 'Remove a member from a connection, or withdraw the invitation of one',
      description:
        'For owners; `mid` is the `id` that the members of the connection have, and of one who is only invited the invitation is withdrawn. Or for oneself: that is leaving, which the only owner among others cannot. The other members get a new secret at once, so that the words of the removed member fail. Coming back takes an invitation.',
      onAccountServer:
        'Withdraws the invitation of one who is not a member. Otherwise 409 `no_device`: post `remove` or `leave` to the roster.',
      tool: {
        title: 'Remove a member from a connection',
        description:
          'Take a member out of a connection that you own; with your own id, leave it. They are notified, and the rest get a new secret. Not undone: only a new invitation leads back. Invited by email, not in yet: invitations_withdraw.',
        traits: ['takes', 'outside'],
      },
    },
  },
}

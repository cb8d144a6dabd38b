/** The texts of `../guest-codes.ts`. */
import type { Texts } from './text.ts'

export const guestCodeTexts: Texts<'guestCodes' | 'externalMembers'> = {
  guestCodes: {
    list: {
      summary: 'List guest codes',
      description:
        'With your own words of this minute for each guest, to say. `code` is null for one that has ended or whose secret another device holds, and for all while the clock is known to have moved.',
      onAccountServer: 'The account server answers `code: null` and `secret_here: false`.',
      tool: {
        title: 'List guest codes',
        description:
          'Codes for people without an account, with your words of this minute to say to each guest ("code"). What a guest says you check with verify_words.',
      },
    },
    create: {
      summary: 'Create a guest code',
      description:
        'Makes a secret on this device and a link that carries it: hand the link over yourself, it is shown once and the account server never sees its secret. It works for a week by default.',
      tool: {
        title: 'Create a guest code',
        description:
          'Give a person without an account words for a while (by default a week). Answers a link (url), shown only now, to hand over in private; nothing is sent: guest_codes_send mails it. With an account: connections_create.',
        traits: ['again'],
      },
    },
    delete: {
      summary: 'Revoke a guest code',
      description:
        'The guest’s page shows no words from now on, and theirs verify no more. It cannot be undone; doing it again changes nothing.',
      onAccountServer: 'It cannot be undone; repeated, it changes nothing.',
      tool: {
        title: 'Revoke a guest code',
        description:
          'End a guest code at once: its link and words are good for nothing from then on. It stays listed. Not undone: create another.',
        traits: ['takes'],
      },
    },
    qr: {
      summary: 'Fetch the link of a guest code as a QR image',
      description:
        'The image holds the secret link: show it only to the guest. Only the device that made the code has it. A token of scope `read` gets 409 `secret_unavailable`.',
      tool: {
        title: 'Show a guest code as a QR image',
        description:
          'The link of an active guest code as a QR image, for the guest to scan. Everyone who sees it has the link. Only on the device that made the code (secret_here), with scope write.',
      },
    },
    send: {
      summary: 'Have a guest code sent',
      description:
        'Mails the link, to `to` or to the address of its external member. This is the one case in which the secret of a code passes through the account server.',
      tool: {
        title: 'Mail a guest code',
        description:
          'Mail the link of an active guest code to "to", or to the address of its external member. Each call sends a mail, which is not called back, and shows the account server the secret. Only on the device that made the code.',
        traits: ['again', 'outside'],
      },
    },
  },
  externalMembers: {
    list: {
      summary: 'List external members: people without an account who can get guest codes',
      description: 'Your own address book of people without an account; they get no message.',
      tool: {
        title: 'List people without an account',
        description:
          'Address book of people without an account, for guest codes. Members of connections: connections_list; of the organisation: org_members_list.',
      },
    },
    create: {
      summary: 'Create an external member',
      description: 'Adds a person without an account, for guest codes. Nothing is sent to them.',
      tool: {
        title: 'Keep a person without an account',
        description:
          'Note a person without an account (name, email, phone) to make guest codes for. The guest sees the name on the page of the code. Nothing is sent and no code is made: next is guest_codes_create with external_member_id.',
        traits: ['again'],
      },
    },
    delete: {
      summary: 'Delete an external member, and revoke the guest codes that are for them',
      description: 'The guest codes that are for them end at once, and nothing brings those back.',
      tool: {
        title: 'Delete a person without an account',
        description:
          'Forget a person without an account and revoke all guest codes that are for them. Not undone. One code alone: guest_codes_delete.',
        traits: ['takes'],
      },
    },
  },
}

/** The texts of `../guest-codes.ts`. */
import type { Texts } from './text.ts'

export const guestCodeTexts: Texts<'guestCodes' | 'externalMembers'> = {
  guestCodes: {
    list: {
      summary: 'List guest codes',
      description:
        'Lists guest codes, each with your own words to say to that guest in this minute. `code` is null if the guest code has ended or another device has its secret. It is null for all guest codes while the clock is known to have moved.',
      onAccountServer: 'The account server returns `code: null` and `secret_here: false`.',
      tool: {
        title: 'List guest codes',
        description:
          'Lists codes for people without an account, with your words to say to each guest in this minute ("code"). Check the words that a guest says with verify_words.',
      },
    },
    create: {
      summary: 'Create a guest code',
      description:
        'Creates a secret on this device and a link that contains it. Give the link to the guest yourself: it is shown only once, and the account server never sees its secret. The code is valid for a week by default.',
      tool: {
        title: 'Create a guest code',
        description:
          'Give words to a person without an account, for a limited time (default: one week). Returns a link (url), shown only now; give it to them in private. Nothing is sent: guest_codes_send can mail the link. For a person with an account, use connections_create.',
        traits: ['again'],
      },
    },
    delete: {
      summary: 'Revoke a guest code',
      description:
        'The guest’s page stops showing words, and the guest’s words are no longer valid. This cannot be undone. Repeating the call changes nothing.',
      onAccountServer: 'This cannot be undone. Repeating the call changes nothing.',
      tool: {
        title: 'Revoke a guest code',
        description:
          'End a guest code immediately: its link and words stop working. It stays in the list. Cannot be undone; create a new guest code instead.',
        traits: ['takes'],
      },
    },
    qr: {
      summary: 'Get the link of a guest code as a QR image',
      description:
        'The image contains the secret link, so show it only to the guest. Only the device that created the code has it. With a token of scope `read` it returns 409 `secret_unavailable`.',
      tool: {
        title: 'Show a guest code as a QR image',
        description:
          'Returns the link of an active guest code as a QR image, for the guest to scan. Anyone who sees the image can use the link. Works only on the device that created the code (secret_here), with scope write.',
      },
    },
    send: {
      summary: 'Mail a guest code to the guest',
      description:
        'Mails the link to the address in `to`, or else to the address of the external member. This is the only case in which the secret of a guest code passes through the account server.',
      tool: {
        title: 'Mail a guest code',
        description:
          'Mail the link of an active guest code to "to", or else to the address of its external member. Each call sends a mail, which cannot be taken back, and reveals the secret to the account server. Works only on the device that created the code.',
        traits: ['again', 'outside'],
      },
    },
  },
  externalMembers: {
    list: {
      summary: 'List external members: people without an account who can get guest codes',
      description:
        'Lists your own address book of people without an account. They are not notified.',
      tool: {
        title: 'List people without an account',
        description:
          'Lists your address book of people without an account, for guest codes. For members of connections, use connections_list; for members of the organisation, org_members_list.',
      },
    },
    create: {
      summary: 'Create an external member',
      description: 'Adds a person without an account, for guest codes. Nothing is sent to them.',
      tool: {
        title: 'Add a person without an account',
        description:
          'Store a person without an account (name, email, phone), to create guest codes for them. They see the name on the page of their code. Sends nothing and creates no code; call guest_codes_create with external_member_id next.',
        traits: ['again'],
      },
    },
    delete: {
      summary: 'Delete an external member and revoke their guest codes',
      description: 'All guest codes for this person end immediately. This cannot be undone.',
      tool: {
        title: 'Delete a person without an account',
        description:
          'Delete a person without an account and revoke all guest codes for them. Cannot be undone. To revoke only one code, use guest_codes_delete.',
        traits: ['takes'],
      },
    },
  },
}

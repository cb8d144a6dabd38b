/** The texts of `../context.ts`, `../profiles.ts` and `../preferences.ts`. */
import type { Texts } from './text.ts'

export const profileTexts: Texts<'context' | 'profile' | 'profiles' | 'preferences'> = {
  context: {
    read: {
      summary: 'Read the identity of the account and its organisations',
      description:
        'Returns the account of the token (of a person or a machine), its organisations, and the active organisation of this session.',
      tool: {
        title: 'Read who the account is',
        description:
          'Shows the account (id, name, email), its organisations with your role in each, and which one is active. Use the ids (org_…) with context_active_org. For the daemon itself, use status_read.',
      },
    },
    activeOrg: {
      summary: 'Switch or clear the active organisation of this session',
      description:
        'Later requests under /api/v1/org/ act in the active organisation. The choice is valid only for this session; other devices keep theirs. A machine account always acts in its own organisation.',
      tool: {
        title: 'Switch the active organisation',
        description:
          'Choose the organisation in which the org_… tools act, or null for none. Call this before you use them. Valid only for this session; your other devices keep their choice. Get the ids from context_read.',
        traits: [],
      },
    },
  },
  profile: {
    read: {
      summary: 'Read your own profile',
      description:
        'If the public code is on, the profile contains your public words for this minute. Say them to people who are not connected to you; they check the words with `POST /api/v1/verify/public`.',
      tool: {
        title: 'Read your own profile',
        description:
          'Shows your name, handle and headline. While the public code is on, also your words for this minute, to SAY to strangers. For another person’s profile, use profiles_read.',
      },
    },
    update: {
      summary: 'Change your own profile',
      description:
        'Others see the change immediately, and people who follow you are told if your name changed. No two accounts can have the same handle. Fields that are left out do not change.',
      tool: {
        title: 'Change your own profile',
        description:
          'Change your name, handle or headline, which others see. Fields left out do not change. If you give up a handle, another account may take it. For settings, use preferences_update.',
        // `takes`: another account can take a handle that was given up.
        traits: ['takes', 'outside'],
      },
    },
  },
  profiles: {
    read: {
      summary: 'Read the public profile of a person',
      description:
        'The id is that of an account, or a handle. Every account can read this profile. The name, handle and headline are chosen by that person and prove nothing. Follow the person to have changes of their keys checked. Limit for handles: 60 an hour.',
      tool: {
        title: 'Read the profile of a person',
        description:
          'Shows the public name, handle, headline and kind of one account, by its id or handle. This does not prove who is on the line; use verify_words for that. For your own profile, use profile_read.',
      },
    },
    keys: {
      summary: "List a person's active public keys",
      description:
        'Returns the keys that verify this person’s signatures, and the keys that secrets for this person are sealed to. They are checked against the person’s key log. The `kid` of a stamp is the `id` of one of these keys.',
      tool: {
        title: 'List the public keys of a person',
        description:
          'Lists the active public keys of one account, checked against its key log, for example to verify a stamp’s signature by hand. To see whether keys changed, use trust_cards_list.',
      },
    },
  },
  preferences: {
    read: {
      summary: 'Read preferences',
      description: 'The preferences of the account, which are valid on all its devices.',
      onAccountServer: 'The preferences of the account, which are valid on all its devices.',
      tool: {
        title: 'Read your preferences',
        description:
          'Shows language, time zone, whether invitations and alerts are mailed, and whether the public code is on. For the words of the public code, use profile_read.',
      },
    },
    update: {
      summary: 'Change preferences',
      description:
        'Switching the public code on creates a secret on this device, and others can look up its words. Switching it off and on again creates a new secret. Fields that are left out do not change.',
      onAccountServer:
        '`public_code: true` switches the public code on. It returns 409 `invalid_state` (`not_shared`) if `POST /device/v1/public-code` has not stored the secret K before. `public_code: false` deletes K.',
      tool: {
        title: 'Change your preferences',
        description:
          'Change language, time zone, mails, or the public code. Fields left out do not change. public_code true lets others look up your public words; switching it off and on creates a new secret. For name and handle, use profile_update.',
        // `takes`: turning the public code off and on again creates a new secret.
        traits: ['takes', 'outside'],
      },
    },
  },
}

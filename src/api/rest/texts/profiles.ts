/** The texts of `../context.ts`, `../profiles.ts` and `../preferences.ts`. */
import type { Texts } from './text.ts'

export const profileTexts: Texts<'context' | 'profile' | 'profiles' | 'preferences'> = {
  context: {
    read: {
      summary: 'Read the identity of the account and its organisations',
      description:
        'The account of the token, a person’s or a machine’s, its organisations, and the active one of this session.',
      tool: {
        title: 'Read who the account is',
        description:
          'The account (id, name, email), its organisations with your role in each, and which is active. The ids here (org_…) are for context_active_org. The daemon itself: status_read.',
      },
    },
    activeOrg: {
      summary: 'Switch or clear the active organisation of this session',
      description:
        'What follows under /api/v1/org/ acts in it. For this session alone: other devices keep theirs. A machine account acts for its organisation always.',
      tool: {
        title: 'Switch the active organisation',
        description:
          'Choose in which of your organisations the org_… tools act, or null for none. Call it before the first of them. It holds for this session, your other devices keep theirs. Ids from context_read.',
        traits: [],
      },
    },
  },
  profile: {
    read: {
      summary: 'Read the own profile',
      description:
        'With the public words of this minute if the public code is on: say them to people who are not connected to you. They check them with `POST /api/v1/verify/public`.',
      tool: {
        title: 'Read your own profile',
        description:
          'Your name, handle and headline; while the public code is on, also your words of this minute to SAY to strangers. Of another person: profiles_read.',
      },
    },
    update: {
      summary: 'Change the own profile',
      description:
        'Others see it at once; who follows you is shown that the name changed. A handle is given once over all accounts. What is left out stays.',
      tool: {
        title: 'Change your own profile',
        description:
          'Change your name, handle or headline, which others see; what is left out stays. A handle that you give up may become another’s. Settings: preferences_update.',
        // `takes`: another account can take a handle that was given up.
        traits: ['takes', 'outside'],
      },
    },
  },
  profiles: {
    read: {
      summary: 'Read the public profile of a person',
      description:
        'Visible to every account: the name that they claim, which proves nothing. Follow them to have changes of their keys checked.',
      tool: {
        title: 'Read the profile of a person',
        description:
          'Public name, handle and kind of one account, by its id. It proves nothing of who is on the line: verify_words. Your own: profile_read.',
      },
    },
    keys: {
      summary: "List a person's active public keys",
      description:
        'The keys that signatures and secrets of theirs go by, checked against their key log. A `kid` of a stamp is the `id` of one of them.',
      tool: {
        title: 'List the public keys of a person',
        description:
          'Active public keys of one account, checked against its key log, as for checking a stamp’s signature by hand. Whether keys changed: trust_cards_list.',
      },
    },
  },
  preferences: {
    read: {
      summary: 'Read preferences',
      description: 'Those of the account, on all its devices.',
      onAccountServer: 'Those of the account, on all its devices.',
      tool: {
        title: 'Read your preferences',
        description:
          'Language, time zone, whether invitations and alerts are mailed, and whether the public code is on. Its words: profile_read.',
      },
    },
    update: {
      summary: 'Change preferences',
      description:
        'Switching the public code on makes a secret on this device, and others can look up its words; switched off and on again, it has a new secret. Members that are left out stay.',
      onAccountServer:
        'With `public_code: true` it switches the public code on: 409 `invalid_state` (`not_shared`) before `POST /device/v1/public-code` stored K. With `false` it deletes K.',
      tool: {
        title: 'Change your preferences',
        description:
          'Change language, time zone, mails, or the public code; what is left out stays. public_code true lets others look up your public words; switched off and on it has a new secret. Name and handle: profile_update.',
        // `takes`: turning the public code off and on again creates a new secret.
        traits: ['takes', 'outside'],
      },
    },
  },
}

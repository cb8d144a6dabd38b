/** The texts of `../trust-cards.ts`. */
import type { Texts } from './text.ts'

export const trustCardTexts: Texts<'trustCards' | 'trust'> = {
  trustCards: {
    list: {
      summary: 'List followed people',
      description:
        'The people whose keys this device follows, with the safety number to compare. Check a `key_status` of `changed_unverified`.',
      onAccountServer:
        'The accounts whose key logs the devices follow. `safety_number` is null and names come with `name_source: server`. `key_status` is a hint to read the key log.',
      tool: {
        title: 'List the people you follow',
        description:
          'People whose keys this device watches: key_status, safety number, your note. Their user_id is the id that trust_cards_update, _delete and _history take. Members of your connections: connections_list.',
      },
    },
    create: {
      summary: 'Follow a person',
      description:
        'From now on this device checks every change of their keys. They get no message. By mailbox, only its proven owner is found.',
      onAccountServer:
        'The devices of the account read the key log of that account at their next sync.',
      tool: {
        title: 'Follow a person',
        description:
          'Watch the keys of one person from now on; give exactly one of user_id and email. They get no message and no words from it: to exchange words, connections_create. Follows by email: 30 an hour.',
        // Not `again`: an account that is already followed is rejected.
        traits: [],
      },
    },
    update: {
      summary:
        'Change the note on a followed person, name them, confirm their keys, or dismiss a recovery',
      description:
        'Confirm only after comparing the safety number by another way: in connections that you own, the person keeps their seat with the new keys. The note and the `name` are yours alone: the name stays on this device and leads in its answers.',
      onAccountServer:
        'Stores the note, and for callers without a device that the keys are confirmed. A device compares the safety number itself before it asks. `name` is 409 `no_device`: a device keeps it.',
      tool: {
        title: 'Change a note or a name, or confirm keys',
        description:
          'Change your note on a person you follow, name them yourself, or confirm their keys. Set confirmed only after the person has compared the safety number by another way and seen it equal: it lets the new keys into your connections, and cannot be undone.',
        // Not `again`: keys that are confirmed stay confirmed.
        traits: ['takes'],
      },
    },
    delete: {
      summary: 'Unfollow a person',
      description:
        'Their keys are not judged any more and the note is gone. Connections with them stay as they are.',
      onAccountServer: 'Deletes the note and the history too.',
      tool: {
        title: 'Stop following a person',
        description:
          'Stop watching the keys of a person you follow; your note and confirmation are gone. They get no message, and connections with them stay: to end one, connections_delete or members_remove.',
        traits: ['takes'],
      },
    },
    history: {
      summary: 'Read the history of a trust card',
      description: 'How their keys came, changed and were confirmed or used, newest first.',
      tool: {
        title: 'Read the history of a followed person',
        description:
          'The history of a person you follow, newest first: devices added and revoked, keys replaced, confirmed, words verified.',
      },
    },
  },
  trust: {
    metrics: {
      summary: 'Read trust metrics',
      description:
        'How many you follow and confirmed, and what happened to their keys in thirty days.',
      tool: {
        title: 'Count followed people and checks',
        description:
          'Totals alone: how many people you follow, follow you and are confirmed; key changes and checks of words in 30 days. Each person: trust_cards_list. Of an organisation: org_analytics_dashboard.',
      },
    },
  },
}

/** The texts of `../trust-cards.ts`. */
import type { Texts } from './text.ts'

export const trustCardTexts: Texts<'trustCards' | 'trust'> = {
  trustCards: {
    list: {
      summary: 'List followed people',
      description:
        'Lists the people that this device follows, each with the safety number to compare. If a `key_status` is `changed_unverified`, compare the safety number with that person.',
      onAccountServer:
        'Lists the accounts that the devices follow by their key logs. `safety_number` is null, and names have `name_source: server`. `key_status` is only a hint that the device should read the key log.',
      tool: {
        title: 'List the people you follow',
        description:
          'Lists the people that this device follows: key_status, safety number, your note. Pass their user_id as id to trust_cards_update, trust_cards_delete and trust_cards_history. For members of your connections, use connections_list.',
      },
    },
    create: {
      summary: 'Follow a person',
      description:
        'This device then checks every change of that person’s keys. The person is not notified. An email address finds a person only if they have verified it.',
      onAccountServer:
        'The devices of the account read the key log of the followed account within seconds if they are connected, or else at their next sync.',
      tool: {
        title: 'Follow a person',
        description:
          'Follow one person, to be told when their keys change; give exactly one of user_id and email. The person is not notified. To exchange words with them, use connections_create. Limit for email: 30 an hour.',
        // Not `again`: an account that is already followed is rejected.
        traits: [],
      },
    },
    update: {
      summary:
        'Change the note or name of a followed person, confirm their keys, or dismiss the notice of a recovery',
      description:
        'Confirm keys only after you have compared the safety number with that person by other means, for example face to face. In connections that you own, the person then stays a member with the new keys. Only you see the note and the `name`. The name is stored only on this device, which shows it in place of their own name.',
      onAccountServer:
        'Stores the note, and, for callers without a device, that the keys are confirmed. A device compares the safety number itself before it calls. `name` returns 409 `no_device`, because only a device stores it.',
      tool: {
        title: 'Change a note or a name, or confirm keys',
        description:
          'Change your note on or name for a person you follow, or confirm their keys. Set confirmed only after your user compared the safety number with them by other means and it is equal: your connections then accept the new keys. Confirming cannot be undone.',
        // Not `again`: keys that are confirmed stay confirmed.
        traits: ['takes'],
      },
    },
    delete: {
      summary: 'Unfollow a person',
      description:
        'This device no longer checks that person’s keys, and your note is deleted. Connections with the person do not change.',
      onAccountServer: 'Also deletes the note and the history.',
      tool: {
        title: 'Stop following a person',
        description:
          'Stop following a person; your note and confirmation are permanently deleted. The person is not notified, and connections with them stay. To end a connection, use connections_delete or members_remove.',
        traits: ['takes'],
      },
    },
    history: {
      summary: 'Read the history of a trust card',
      description:
        'Shows how the person’s keys were added, changed, confirmed and used, newest first.',
      tool: {
        title: 'Read the history of a followed person',
        description:
          'Shows the history of a person you follow, newest first: devices added and revoked, keys replaced and confirmed, words verified.',
      },
    },
  },
  trust: {
    metrics: {
      summary: 'Read trust metrics',
      description:
        'Counts the people that you follow, the people with keys that you confirmed, and the key changes of the last 30 days.',
      tool: {
        title: 'Count followed people and checks',
        description:
          'Shows only totals: how many people you follow, follow you and are confirmed; key changes and checks of words in the last 30 days. For each person, use trust_cards_list; for an organisation, org_analytics_dashboard.',
      },
    },
  },
}

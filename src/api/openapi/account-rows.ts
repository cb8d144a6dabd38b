/**
 * Rows of the daemon's interface that a client of an account server needs too. The account server
 * answers them from its stored data; these texts describe how that differs from a daemon's
 * answer.
 */
import { type Rest, rest } from '../rest/index.ts'
import type { Table } from '../route.ts'
import { filterRows } from '../rows.ts'

type Texts = { readonly [G in keyof Rest]?: { readonly [R in keyof Rest[G]]?: string } }

const TEXTS = {
  connections: {
    list: 'The account server answers `secret_here: false`, `replaced_by: null`, and names with `name_source: server`. The members are a hint: the roster decides. A connection is read anew when its `updated_at` differs.',
    read: 'As in the list.',
    update: 'The name and the favourite are those of the account that asks.',
    delete:
      'Ends a connection without another member, and deletes one that was ended from the list. Otherwise 409 `no_device`: post `leave` or `end` to its roster.',
  },
  members: {
    add: 'Stores the invitation and mails it. The account is in the connection once a device of the inviter posts an `add` with its consent; until then `GET /device/v1/duties` names it.',
    remove:
      'Withdraws the invitation of one who is not a member. Otherwise 409 `no_device`: post `remove` or `leave` to the roster.',
  },
  invitations: {
    list: 'Names come with `name_source: server`. With `state=declined`, those that were declined on any device of the account.',
    decline: 'Drops the consents that the account gave for the connection.',
    withdraw: 'Also an invitation that was approved, until the account is a member.',
  },
  devices: {
    list: 'A device to approve has the state `pending`. The key log decides which devices are active.',
    delete:
      'Deletes a device that no key log names yet. Otherwise 409 `no_device`: post `revoke` to the key log.',
  },
  preferences: {
    read: 'Those of the account, on all its devices.',
    update:
      'With `public_code: true` it switches the public code on: 409 `invalid_state` (`not_shared`) before `POST /device/v1/public-code` stored K. With `false` it deletes K.',
  },
  trustCards: {
    list: 'The accounts whose key logs the devices follow. `safety_number` is null and names come with `name_source: server`. `key_status` is a hint to read the key log.',
    create: 'The devices of the account read the key log of that account at their next sync.',
    update:
      'Stores the note, and for callers without a device that the keys are confirmed. A device compares the safety number itself before it asks. `name` is 409 `no_device`: a device keeps it.',
    delete: 'Deletes the note and the history too.',
  },
  guestCodes: {
    list: 'The account server answers `code: null` and `secret_here: false`.',
    delete: 'It cannot be undone; repeated, it changes nothing.',
  },
  account: {
    delete:
      'Needs an approved device of the account; asks for nothing else, and cannot be undone. Sign `leave` or `end` in connections before: rosters name the account otherwise.',
  },
} as const satisfies Texts

/** The groups of these rows. */
export type AccountGroups = keyof typeof TEXTS

const textsOf = (group: string) =>
  (TEXTS as Readonly<Record<string, Readonly<Record<string, string>>>>)[group] ?? {}

/** Returns the text about an account server's answer to a row; empty for every other row. */
export const accountTextOf = (group: string, name: string): string => textsOf(group)[name] ?? ''

/** The rows, by group. */
export const accountRows: Table = filterRows(
  rest,
  (_, name, group) => accountTextOf(group, name) !== '',
)

/**
 * The contents of an export: a JSON file for each kind of data that the server has about an
 * account.
 */
import { setImmediate } from 'node:timers/promises'
import { timeAt } from '../../api/fields.ts'
import {
  type Source,
  apiTokens,
  chat,
  feedback,
  keyLog,
  listed,
  rosters,
  sessions,
  stamps,
  trustCards,
} from './rows.ts'
import { profilesOf } from '../accounts/key-log-rows.ts'

/**
 * Tables that can have many rows. Their rows are counted before the build, to report its progress.
 */
type Counted = 'guest_codes' | 'stamps' | 'verifications'

interface File {
  readonly file: string
  /** What the file contains, for the person who reads the export. */
  readonly about: string
}

/** A file with one object, exactly as the API returns it. */
interface One extends File {
  readonly one: (of: Source) => Promise<unknown>
}

/** A file with an array. It is built page by page, and other requests can run between two pages. */
interface Many extends File {
  readonly pages: (of: Source) => AsyncIterable<readonly unknown[]>
  readonly counted?: Counted
}

/** How many rows one query counts at most. */
const COUNTED = 20_000

/** The files, in their order in the ZIP. */
export const CONTENTS: readonly (One | Many)[] = [
  {
    file: 'profile.json',
    about: 'your profile, as others see it',
    one: ({ account }) => account.profile.read({}),
  },
  {
    file: 'signed-profile.json',
    about: 'your name, as your devices signed it; null if no device has signed it',
    one: async ({ db, id }) => ({ profile: (await profilesOf(db, [id])).get(id) ?? null }),
  },
  {
    file: 'preferences.json',
    about: 'your preferences',
    one: ({ account }) => account.preferences.read({}),
  },
  {
    file: 'context.json',
    about: 'your account, and the organisations in which you are a member',
    one: ({ account }) => account.context.read({}),
  },
  {
    file: 'emails.json',
    about: 'your e-mail addresses',
    pages: ({ account }) => listed((query) => account.emails.list(query)),
  },
  {
    file: 'devices.json',
    about: 'your devices',
    pages: ({ account }) => listed((query) => account.devices.list(query)),
  },
  {
    file: 'sessions.json',
    about: 'the devices that are signed in',
    pages: sessions,
  },
  {
    file: 'api-tokens.json',
    about: 'API tokens of machine accounts, without the secret texts of the tokens',
    pages: apiTokens,
  },
  {
    file: 'key-log.json',
    about: 'the signed log of your devices’ public keys, as your devices signed it',
    pages: keyLog,
  },
  {
    file: 'connections.json',
    about: 'your connections',
    pages: ({ account }) => listed((query) => account.connections.list(query)),
  },
  {
    file: 'rosters.json',
    about: 'the signed histories of the members of your connections, unchanged',
    pages: rosters,
  },
  {
    file: 'invitations.json',
    about: 'invitations, received and sent',
    one: ({ account }) => account.invitations.list({}),
  },
  {
    file: 'tags.json',
    about: 'your tags',
    pages: ({ account }) => listed((query) => account.tags.list(query)),
  },
  {
    file: 'presets.json',
    about: 'your presets for new connections',
    pages: ({ account }) => listed((query) => account.presets.list(query)),
  },
  {
    file: 'open-links.json',
    about: 'your open links',
    pages: ({ account }) => listed((query) => account.openLinks.list(query)),
  },
  {
    file: 'open-link-requests.json',
    about: 'requests to connect that were made through your open links',
    pages: ({ account }) => listed((query) => account.openLinkRequests.list(query)),
  },
  {
    file: 'guest-codes.json',
    about: 'your guest codes, without their links',
    pages: ({ account }) => listed((query) => account.guestCodes.list(query)),
    counted: 'guest_codes',
  },
  {
    file: 'external-members.json',
    about: 'people without an account who can get guest codes',
    pages: ({ account }) => listed((query) => account.externalMembers.list(query)),
  },
  {
    file: 'trust-cards.json',
    about: 'the accounts that you follow, each with its events since',
    pages: trustCards,
  },
  {
    file: 'verification-log.json',
    about: 'the checks of words that your devices made, without the words',
    pages: ({ account }) => listed((query) => account.verificationLog.list(query)),
    counted: 'verifications',
  },
  {
    file: 'stamps.json',
    about:
      'your stamps, with the receipts of the account server; the server never had the stamped content',
    pages: stamps,
    counted: 'stamps',
  },
  {
    file: 'exports.json',
    about: 'the exports that you requested, including this one',
    pages: ({ account }) => listed((query) => account.exports.list(query)),
  },
  {
    file: 'notifications.json',
    about: 'your notifications',
    pages: ({ account }) => listed((query) => account.notifications.list(query)),
  },
  {
    file: 'chat.json',
    about: 'your questions to the assistant, its answers, and your ratings of the answers',
    pages: chat,
  },
  {
    file: 'feedback.json',
    about: 'the feedback you sent',
    pages: feedback,
  },
]

/** Returns how many rows of a table belong to the account. */
async function rowsOf(table: Counted, { db, id }: Pick<Source, 'db' | 'id'>): Promise<number> {
  let rows = 0
  for (let last = ''; ;) {
    const some = db
      .selectFrom(table)
      .select('id')
      .where('account_id', '=', id)
      .where('id', '>', last)
      .orderBy('id')
      .limit(COUNTED)
    const found = await db
      .selectFrom(some.as('some'))
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.max('id').as('last')])
      .executeTakeFirstOrThrow()
    rows += found.count
    if (found.count < COUNTED) return rows
    last = found.last
    await setImmediate()
  }
}

/** Returns the number of steps of a build: the number of files plus the number of counted rows. */
export async function stepsOf(of: Pick<Source, 'db' | 'id'>): Promise<number> {
  let steps = CONTENTS.length
  for (const content of CONTENTS)
    if ('pages' in content && content.counted !== undefined)
      steps += await rowsOf(content.counted, of)
  return steps
}

/**
 * Returns the content of `README.txt`.
 * @param at when the export is built, Unix milliseconds
 */
export function readme(id: string, at: number): string {
  const width = Math.max(...CONTENTS.map(({ file }) => file.length))
  const lines = CONTENTS.map(({ file, about }) => `  ${file.padEnd(width)}  ${about}`)
  return `Countersign: all data that the account server stores about the account ${id}.
Created on ${timeAt(at)}.

${lines.join('\n')}

Each file is JSON in UTF-8. A file for a list of the interface is an array of exactly the objects that the interface returns
to a caller without a device. Changes that were made while this export was built may be missing.

The export does not contain data that the account server does not have: the secrets of connections and guest codes, the
private keys of your devices, stamped content, words, and the names and checks that only a device stores.
For your safety, the export does not contain secrets either: the hashes that the server stores of sessions, tokens and mailed
links, the secret of your public code, and the encrypted envelopes by which your devices give each other secrets.
`
}

import { calledOf, someoneOf, inQuotes } from '../../../api/name-text.ts'
import { every } from '../../../api/cursor.ts'
import type { TrustCard } from '../../../api/rest/trust-cards.ts'
import { AppError } from '../../../errors.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { inviteeOf } from './first-contact.ts'
import { optionsOf, textField, valuesOf } from '../../option-fields.ts'
import { withPrompt } from '../../prompt.ts'
import { shown, table } from '../../table.ts'
import { when, whenOr } from '../../times.ts'

const notFollowed = () =>
  new AppError(
    'not_found',
    'You follow no one with this id. "countersignd trust list" shows the people you follow.',
  )

/**
 * Runs a function on a followed account.
 * @throws AppError `not_found`
 */
async function ofFollowed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError && error.code === 'not_found' ? notFollowed() : error
  }
}

const KEYS = {
  unchanged: 'unchanged',
  changed_unverified: 'CHANGED, not verified',
  confirmed: 'confirmed',
} as const

/** Returns a card's name with its source, and the account's own name if that differs. */
function nameOf(card: TrustCard): string {
  const { display_name, own_name, name_changed } = card
  const called = calledOf(card)
  if (own_name !== null && own_name !== display_name)
    return `${called} (calls itself ${inQuotes(own_name)}${name_changed ? ' now' : ''})`
  return name_changed ? `${called} (another name than before)` : called
}

/** Returns the safety number as two lines of six groups. */
const numberLines = ({ safety_number: number }: TrustCard): string[] =>
  number === null ? [] : [`  ${number.slice(0, 35)}`, `  ${number.slice(36)}`]

/** Returns the digits of a safety number in groups of five, separated by spaces. */
const inGroups = (digits: string): string =>
  digits.replace(/\s/g, '').replace(/(?<=^(?:.{5})+)(?=.)/g, ' ')

/** Returns the lines below a card that report replaced devices. */
const replacedLines = ({ user_id, recovered_at, recovery_key_unused }: TrustCard): string[] => [
  ...(recovery_key_unused
    ? [
        '  WARNING: all devices were replaced without using the recovery key. Ask the person before you confirm the keys.',
      ]
    : []),
  ...(recovered_at === null
    ? []
    : [
        `  All devices were replaced with the recovery key on ${when(recovered_at)}. To hide this line: countersignd trust dismiss ${user_id}`,
      ]),
]

export const trustList: Command = {
  usage: '[--json]',
  help: `
Lists the people you follow, newest first. Each person is shown with the safety number, which is the same on both
sides. "calls itself" marks a name that only the person claims. "the server says" marks a name that is not signed.

"CHANGED, not verified" means that you have not reviewed the keys of all devices of the person. Compare the safety
number ("countersignd trust confirm") before you rely on the new keys. If the person used their recovery key to
replace all their devices, this comparison is not necessary. A line below the person then shows that the devices
were replaced, until you use "countersignd trust dismiss".`,
  args: [0, 0],
  async run({ io, withApi, print }) {
    const items = await withApi((api) => every((query) => api.trustCards.list(query)))
    const [heading = '', ...rows] = await table(
      ['ACCOUNT', 'NAME', 'KEYS', 'LAST VERIFIED', 'NOTE'],
      items.map((card) => [
        card.user_id,
        nameOf(card),
        KEYS[card.key_status],
        whenOr('never', card.last_verified_at),
        card.note ?? '',
      ]),
      io.stdout,
    )
    const lines = items.map((card) => [...numberLines(card), ...replacedLines(card)])
    print({ items }, [heading, ...rows.flatMap((row, i) => [row, ...(lines[i] ?? [])])])
  },
}

const FOLLOWING = { note: textField('note') }

export const trustFollow: Command = {
  usage: 'ADDRESS|PERSON [--note TEXT] [--json]',
  help: `
Follows a person, by an e-mail address that they have confirmed or by the id of their account (acc_…), and shows the
safety number. From then on, you get a notification when their keys change. To give the person a name of your own,
use "countersignd trust rename".

  --note TEXT   a note that only you see`,
  examples: {
    'trust follow bob@example.org --note "met in Bern"': 'follow Bob, with a note',
  },
  options: optionsOf(FOLLOWING),
  args: [1, 1],
  takes: [['address', 'person']],
  async run({ args: [whom = ''], options, withApi, print, say }) {
    const body = { ...inviteeOf(whom), ...valuesOf(FOLLOWING, options) }
    const card = await withApi((api) => api.trustCards.create({ body }))
    print(card, [`${card.user_id}  ${shown(nameOf(card))}`, ...numberLines(card)])
    say(
      `To check that these are really the keys of this person: countersignd trust confirm ${card.user_id}`,
    )
  },
}

const UNUSED = `
All devices of this person were replaced without using their recovery key. Either the person has lost the paper
together with the devices, or a thief who reads the mail of the person has replaced the devices.

`

/**
 * Asks the user to compare the safety number, and returns that number.
 * @throws AppError `invalid_state` if the user does not confirm that it is the same
 */
async function compare({ io, withApi }: Invocation, id: string): Promise<string> {
  return withPrompt(io, async (prompt) => {
    // Fetch the current keys, because the cached ones may be outdated.
    const card = await withApi((api) => ofFollowed(() => api.trustCards.update({ id, body: {} })))
    if (!prompt.isTerminal)
      throw new AppError(
        'invalid_state',
        'Nothing was confirmed. Without a terminal, compare the safety number that "countersignd trust list" shows, then give it with --safety-number.',
      )
    const { safety_number } = card
    if (safety_number === null)
      throw new AppError(
        'invalid_state',
        'There is no safety number, because this person has no keys yet.',
      )
    if (card.recovery_key_unused) io.stderr.write(UNUSED)
    io.stderr.write(
      `The safety number of you and ${shown(someoneOf(card))}:\n\n${numberLines(card).join('\n')}\n\n` +
        'Ask the person to read out the number that their device shows ("countersignd trust confirm" there), in person, or on a call that one of you placed to a number already known.\n',
    )
    const typed = await prompt.ask('Type "same" if all 60 digits are the same: ')
    if (typed !== 'same')
      throw new AppError(
        'invalid_state',
        'Nothing was confirmed. If the numbers are still different after both of you have synced, an attacker may be between your devices.',
      )
    return safety_number
  })
}

export const trustConfirm: Command = {
  usage: 'PERSON [--safety-number DIGITS] [--json]',
  help: `
Confirms the keys of a person you follow. The command shows the safety number, which is the same on both sides, and
asks whether you have compared it with the person.

  --safety-number DIGITS   the safety number that you have compared, in quotes ("countersignd trust list" shows it).
                           The command then does not ask, and fails if the person's keys now have another safety
                           number`,
  examples: {
    'trust confirm Bob': 'compare the safety number with Bob',
  },
  options: { 'safety-number': { type: 'string' } },
  args: [1, 1],
  takes: ['person'],
  async run(invocation) {
    const { args, options, withApi, print, say } = invocation
    const [id = ''] = args
    const given = options['safety-number']
    const safety_number =
      given === undefined ? await compare(invocation, id) : inGroups(String(given))
    const card = await withApi((api) =>
      ofFollowed(() => api.trustCards.update({ id, body: { confirmed: true, safety_number } })),
    )
    print(card, [])
    say(`Confirmed the keys of ${shown(card.display_name)}.`)
  },
}

export const trustDismiss: Command = {
  usage: 'PERSON [--json]',
  help: `
If a person you follow replaces all their devices with their recovery key, the trust list has a line that says so.
This command hides that line, on this device only. It does not change whether you have confirmed the keys of the
person.`,
  args: [1, 1],
  takes: ['person'],
  async run({ args: [id = ''], withApi, print, say }) {
    const body = { recovery_seen: true } as const
    const card = await withApi((api) => ofFollowed(() => api.trustCards.update({ id, body })))
    print(card, [])
    say(`Dismissed: ${shown(card.display_name)} replaced all devices with the recovery key.`)
  },
}

export const trustUnfollow: Command = {
  usage: 'PERSON [--json]',
  help: 'Stops following a person, and deletes your note about them and their history.',
  args: [1, 1],
  takes: ['person'],
  async run({ args: [id = ''], called, withApi, print, say }) {
    await withApi((api) => ofFollowed(() => api.trustCards.delete({ id })))
    print({ id, state: 'unfollowed' }, [])
    say(`You no longer follow ${called(id)}.`)
  },
}

/**
 * Returns the text to store; null for `--clear`.
 * @throws UsageError unless exactly one of the two is given
 */
function textOrClear(
  text: string | undefined,
  options: Invocation['options'],
  usage: string,
): string | null {
  const isCleared = options['clear'] === true
  if ((text === undefined) !== isCleared) throw new UsageError(usage)
  return text ?? null
}

export const trustNote: Command = {
  usage: 'PERSON TEXT | PERSON --clear [--json]',
  help: `
Replaces your note about a person you follow.

  --clear   delete the note`,
  options: { clear: { type: 'boolean' } },
  args: [1, 2],
  takes: ['person', null],
  async run({ args: [id = '', text], options, withApi, print }) {
    const body = {
      note: textOrClear(text, options, 'Give the text of the note, or --clear to delete it.'),
    }
    const card = await withApi((api) => ofFollowed(() => api.trustCards.update({ id, body })))
    const note = `${id}  ${shown(nameOf(card))}: ${shown(card.note ?? 'no note')}`
    print(card, [note, ...numberLines(card)])
  },
}

export const trustRename: Command = {
  usage: 'PERSON NAME | PERSON --clear [--json]',
  help: `
Sets a name of your choice for a person you follow. This device shows this name instead of the person's own name.
The name is stored only on this device.

  --clear   show their own name again`,
  options: { clear: { type: 'boolean' } },
  args: [1, 2],
  takes: ['person', null],
  async run({ args: [id = '', name], options, withApi, print }) {
    const body = {
      name: textOrClear(name, options, 'Give the name, or --clear to show their own name again.'),
    }
    const card = await withApi((api) => ofFollowed(() => api.trustCards.update({ id, body })))
    print(card, [`${id}  ${shown(nameOf(card))}`, ...numberLines(card)])
  },
}

const EVENTS = {
  followed: 'followed',
  key_added: 'a device was added',
  key_revoked: 'a device was revoked',
  keys_changed: 'ALL DEVICES WERE REPLACED',
  keys_recovered: 'all devices were replaced with the recovery key',
  recovery_key_changed: 'a recovery key was created',
  confirmed: 'you confirmed the keys',
  verified: 'verified',
  note_changed: 'you changed the note',
} as const

export const trustHistory: Command = {
  usage: 'PERSON [--json]',
  help: `
Shows the history of a person you follow, newest first. The times at which devices were added or revoked come from
the devices of the person, and are not checked.`,
  args: [1, 1],
  takes: ['person'],
  async run({ args: [id = ''], withApi, print }) {
    const items = await withApi((api) =>
      ofFollowed(() => every((query) => api.trustCards.history({ id, ...query }))),
    )
    print(
      { items },
      await table(
        ['TIME', 'WHAT', ''],
        items.map(({ at, event, detail }) => [when(at), EVENTS[event], detail ?? '']),
      ),
    )
  },
}

const METRICS = {
  following: 'people you follow',
  followers: 'people who follow you',
  confirmed: 'keys you confirmed',
  keys_changed_30d: 'times a person replaced all devices, in the last 30 days',
  verifications_30d: 'checks of words, in the last 30 days',
  inconclusive_30d: 'of these checks were inconclusive',
} as const

export const trustMetrics: Command = {
  usage: '[--json]',
  help: `
Shows how many people you follow, how many people follow you, how many keys you confirmed, how often people replaced all
their devices, and how many checks of words you made.`,
  args: [0, 0],
  async run({ withApi, print }) {
    const metrics = await withApi((api) => api.trust.metrics({}))
    print(
      metrics,
      Object.entries(METRICS).map(
        ([name, what]) => `${String(metrics[name as keyof typeof METRICS]).padStart(6)}  ${what}`,
      ),
    )
  },
}

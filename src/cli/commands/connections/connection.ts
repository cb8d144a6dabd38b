import { every } from '../../../api/cursor.ts'
import { calledOf, inQuotes } from '../../../api/name-text.ts'
import type { Connection, Member } from '../../../api/rest/connections.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { itemAnswer, itemLine, listCommand } from '../../collection.ts'
import { type Api, type Command, UsageError } from '../../command.ts'
import { labelledLines, printLabelled } from '../../labels.ts'
import {
  eitherField,
  flagField,
  idField,
  idsField,
  optionsOf,
  textField,
  valuesOf,
} from '../../option-fields.ts'
import { when, whenOr } from '../../times.ts'
import { TIMEOUT_HELP, WAIT_OPTIONS, patienceOf } from '../../wait.ts'
import { afterWords, wordsLine, inviteeOf } from './first-contact.ts'
import { addressOf, fullNameOf, knownPeople } from './people.ts'
import { waitForInvited } from './waiting.ts'

/**
 * Reads a connection from the account server.
 * @throws AppError `not_found` with the command line's message
 */
export const readShownConnection = (api: Api, id: string): Promise<Connection> =>
  byId('connection', () => api.connections.read({ id }))

/** Returns whether a member has joined the connection, and is not only invited. */
export const isActive = ({ state }: Member): boolean => state === 'active'

/** Returns a member's name with its source. For an invited mailbox, returns the address. */
const nameOfMember = (member: Member): string =>
  member.user_id === null ? member.display_name : calledOf(member)

/** Returns who is in a connection besides the user, and who is invited to it. */
const othersIn = ({ members }: Connection): string =>
  members
    .filter((member) => member.name_source !== 'own')
    .map((member) => `${nameOfMember(member)}${isActive(member) ? '' : ' (invited)'}`)
    .join(', ')

/** How many checks of words are read to find the last one of each connection. */
const RECENT_CHECKS = 200

type LastVerified = ReadonlyMap<string, string> | null

/**
 * Returns when words of each connection last verified, among the last checks; null if the checks
 * cannot be read now, which must not keep the connections from being listed.
 */
async function lastVerified(api: Api): Promise<LastVerified> {
  const list = api.verificationLog.list({ limit: RECENT_CHECKS })
  const page = await list.catch((error: unknown) => {
    if (error instanceof AppError) return null
    throw error
  })
  if (page === null) return null
  const last = new Map<string, string>()
  for (const { outcome, at, matches } of page.items)
    for (const { connection_id: id, speaker } of matches)
      if (outcome === 'verified' && speaker === 'other' && id !== undefined && !last.has(id))
        last.set(id, at)
  return last
}

const FILTERS = {
  state: textField<Connection['state']>('state'),
  favorite: flagField('favorite', true),
  tag_id: idField('tag', 'tag'),
}

export const connectionList = listCommand({
  usage: '[--all | --state pending|active|ended] [--tag TAG] [--favorite] [--json]',
  help: `
Lists connections that have not ended, newest first, with who is in them. LAST VERIFIED is when the words of another
person last verified, among your last ${RECENT_CHECKS} checks.

  --all           list also connections that have ended
  --state STATE   list only connections in this state: pending, active or ended
  --tag TAG       list only connections with this tag ("countersignd tag list")
  --favorite      list only favourites`,
  filters: FILTERS,
  work: (api, query) => api.connections.list(query),
  hasEnded: ({ state }) => state === 'ended',
  more: lastVerified,
  heading: ['ID', 'NAME', 'WITH', 'STATE', 'FAVORITE', 'SECRET HERE', 'LAST VERIFIED'],
  row: (connection, verified) => [
    connection.id,
    connection.name,
    othersIn(connection),
    connection.state,
    connection.favorite ? 'yes' : '',
    connection.secret_here ? '' : 'no',
    verified === null ? '' : whenOr('never', verified.get(connection.id) ?? null),
  ],
})

const FIELDS = {
  name: textField('name'),
  invite: idsField('invite', ['address', 'person']),
  preset_id: eitherField(idField('preset', 'preset'), flagField('no-preset', null)),
  words: flagField('words', true as const),
}

export const connectionCreate: Command = {
  usage:
    '--name NAME [--invite ADDRESS|PERSON]… [--words] [--wait [--timeout TIME]] [--preset PRESET | --no-preset] [--json]',
  help: `
Creates a connection with you as its only member and owner. With --invite, also invites other people to it, like
"countersignd invite".

  --name NAME                a name for the connection, for example the name of the other person. Invited people see
                             this name
  --invite ADDRESS|PERSON    invite a person, by e-mail address, by the name of a person you follow, or by the id of an
                             account (acc_…). A person invited by e-mail address can create an account later. This
                             option can be given several times
  --words                    show four words for each invited person. Say them in person or on a call that you placed.
                             The command waits until the words are typed ("countersignd invite approve --words"), at
                             most 15 minutes. Then both sides are confirmed, as if you had compared the safety number
  --wait                     wait until every invited person is a member and the words can be used, and show each step
                             on the way
  --timeout TIME             ${TIMEOUT_HELP}
  --preset PRESET            the preset to use ("countersignd preset list"; default: the default preset)
  --no-preset                use no preset`,
  examples: {
    'connection create --name Bank --invite bob@example.org': 'connect with one person',
    'connection create --name Family --invite ada@example.org --invite bob@example.org --wait':
      'wait until both have joined',
  },
  options: { ...optionsOf(FIELDS), ...WAIT_OPTIONS },
  needs: [['name']],
  args: [0, 0],
  async run(invocation) {
    const { options, called, withApi, say, json } = invocation
    const patienceMs = patienceOf(invocation)
    const { name = '', invite = [], ...more } = valuesOf(FIELDS, options)
    if (more.words && invite.length === 0)
      throw new UsageError(
        '--words can only be used with --invite, because the words are for invited people.',
      )
    if (patienceMs !== null && invite.length === 0)
      throw new UsageError(
        '--wait can only be used with --invite, because the command waits for invited people.',
      )
    const body = { name, invite: invite.map(inviteeOf), ...more }
    return withApi(async (api, hasDaemon) => {
      const made = await api.connections.create({ body })
      const { words = [] } = made
      const { rows } = itemAnswer(made)
      if (patienceMs === null || !json)
        printLabelled(invocation, made, {
          bare: [itemLine(made), ...words.map(wordsLine)],
          rows: [...rows, ...words.map((one) => ['Words', wordsLine(one)] as const)],
        })
      if (patienceMs !== null)
        return waitForInvited(invocation, api, {
          connection: made,
          isMine: () => true,
          words,
          answer: (connection) => ({ ...made, ...connection }),
          hasDaemon,
          patienceMs,
        })
      if (words.length > 0) return afterWords({ say, json }, api, words)
      if (invite.length > 0)
        say(
          `Invited ${invite.map(called).join(', ')}. When a person approves the invitation, this device adds them: within seconds if its daemon is connected, or else at its next sync.`,
        )
    })
  },
}

/** Returns where the secret of a connection is and, if there are no words, the reason. */
async function secretOf(api: Api, { id, secret_here, epoch }: Connection): Promise<string[]> {
  const where = `${secret_here ? '' : 'not '}on this device; epoch ${epoch}`
  try {
    await api.connections.code({ id })
    return [where]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [where, error.message]
  }
}

export const connectionShow: Command = {
  usage: 'CONNECTION [--json]',
  help: 'Shows one connection: its members, its tags, and whether its secret is on this device.',
  args: [1, 1],
  takes: ['connection'],
  async run({ args: [id = ''], withApi, print }) {
    const [connection, tags, people, [secret = '', waits]] = await withApi(async (api) => {
      const read = await readShownConnection(api, id)
      const all = read.tag_ids.length === 0 ? [] : await every((query) => api.tags.list(query))
      const assigned = all.filter((tag) => read.tag_ids.includes(tag.id))
      return [read, assigned, await knownPeople(api), await secretOf(api, read)]
    })
    const { name, favorite, kind, state, members, replaces, replaced_by, created_at } = connection
    const namesOf = (of: readonly Member[]) =>
      of
        .map((member) => {
          const address = addressOf(member, people)
          return `${fullNameOf(member, people)}${address === null ? '' : ` <${address}>`}`
        })
        .join(', ')
    const invited = members.filter((member) => !isActive(member))
    print(
      connection,
      labelledLines([
        ['Name', name],
        ['State', `${state} (${kind})`],
        ['Favorite', favorite ? 'yes' : null],
        ['Tags', tags.map((tag) => tag.name).join(', ')],
        ['Members', namesOf(members.filter(isActive))],
        ['Invited', namesOf(invited)],
        ['Secret', secret],
        ['Words', waits],
        ['Replaces', replaces],
        ['Replaced', replaced_by && `by ${replaced_by}`],
        ['Created', when(created_at)],
        ['Id', id],
      ]),
    )
  },
}

export const connectionFavorite: Command = {
  usage: 'CONNECTION [--off] [--json]',
  help: `
Marks a connection as one of your favourites. Other members do not see this.

  --off   remove the mark`,
  options: { off: { type: 'boolean' } },
  args: [1, 1],
  takes: ['connection'],
  async run(invocation) {
    const { args, options, withApi } = invocation
    const [id = ''] = args
    const favorite = options['off'] !== true
    const marked = await withApi((api) =>
      byId('connection', () => api.connections.favorite({ id, body: { favorite } })),
    )
    printLabelled(invocation, marked, itemAnswer(marked))
  },
}

export const connectionRename: Command = {
  usage: 'CONNECTION NAME [--json]',
  help: 'Renames a connection for you only. Other members do not see the new name.',
  args: [2, 2],
  takes: ['connection', null],
  async run(invocation) {
    const { args, withApi } = invocation
    const [id = '', name = ''] = args
    const renamed = await withApi((api) =>
      byId('connection', () => api.connections.update({ id, body: { name } })),
    )
    printLabelled(invocation, renamed, itemAnswer(renamed))
  },
}

export const rotateCommand: Command = {
  usage: 'CONNECTION [--json]',
  help: `
Gives a connection a new secret immediately. Any member can do this. The words of the old secret no longer verify.

After a member has left or a device was revoked, the connection must get a new secret. Until then, no words of the
connection verify. Devices create the new secret by themselves: within seconds if they are connected, or else at their
next sync. This command does not wait for that.`,
  args: [1, 1],
  takes: ['connection'],
  async run({ args: [id = ''], withApi, print, say }) {
    const after = await withApi((api) => byId('connection', () => api.connections.rotate({ id })))
    print(after, [])
    say(
      `${inQuotes(after.name)} has a new secret (epoch ${after.epoch}). The other members get it within seconds if their devices are connected, or else at their next sync. Until then, their words do not verify here.`,
    )
  },
}

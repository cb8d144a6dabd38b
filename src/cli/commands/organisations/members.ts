import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { every } from '../../../api/cursor.ts'
import { MOST_INVITES, type OrgGroup, type OrgMember, OrgRole } from '../../../api/rest/org.ts'
import { EXIT } from '../../../errors.ts'
import { byId, noSuch } from '../../by-id.ts'
import { createCommand, deleteCommand, itemAnswer, listCommand } from '../../collection.ts'
import { type Api, type Command, type Io, UsageError } from '../../command.ts'
import { unreadable } from '../../errors/file-errors.ts'
import { textField } from '../../option-fields.ts'
import { shown, table, typedName } from '../../table.ts'
import { whenOr } from '../../times.ts'

type Invited = Awaited<ReturnType<Api['orgMembers']['bulkInvite']>>

/** Returns what a member is called: the name, otherwise the address, otherwise the id. */
const calledOf = ({ display_name, email, id }: OrgMember): string =>
  shown(display_name ?? email ?? id)

/**
 * Requires that there is a group with an id, and returns the id.
 * @throws AppError not_found
 */
function groupIn(groups: readonly OrgGroup[], id: string): string {
  if (groups.some((group) => group.id === id)) return id
  throw noSuch('group')
}

export const orgMembersCommand: Command = {
  usage: '[--group GROUP] [--json]',
  help: `
Lists the members of the current organisation, newest first, including machine accounts and invited addresses.

  --group GROUP   list only the members of this group`,
  options: { group: { type: 'string', takes: 'group' } },
  args: [0, 0],
  async run({ options, io, withApi, print }) {
    const { members, groups } = await withApi(async (api) => ({
      groups: await every((query) => api.orgGroups.list(query)),
      members: await every((query) => api.orgMembers.list(query)),
    }))
    const only = options['group'] === undefined ? null : groupIn(groups, String(options['group']))
    const items = members.filter(({ group_ids }) => only === null || group_ids.includes(only))
    const names = new Map(groups.map(({ id, name }) => [id, name]))
    print(
      { items },
      await table(
        ['ID', 'NAME', 'ADDRESS', 'ROLE', 'STATE', 'JOINED', 'GROUPS'],
        items.map(({ id, display_name, email, kind, role, state, joined_at, group_ids }) => [
          id,
          display_name ?? '',
          email ?? (kind === 'machine' ? 'machine' : ''),
          role,
          state,
          whenOr('not yet', joined_at),
          group_ids.map((group) => names.get(group) ?? group).join(', '),
        ]),
        io.stdout,
      ),
    )
  },
}

/**
 * Reads the addresses in a file, one per line. `-` is standard input.
 * @throws UsageError if the file cannot be read
 */
async function addressesIn(file: string, { stdin }: Io): Promise<string[]> {
  const all = await (file === '-' ? text(Readable.from(stdin)) : readFile(file, 'utf8')).catch(
    (cause: unknown) => {
      throw unreadable(file, cause, 'file')
    },
  )
  return all
    .split(/\r\n|[\r\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** The message for each reason why an address was not invited. */
const REASONS: Readonly<Record<Invited['skipped'][number]['reason'], string>> = {
  invalid_email: 'is not an e-mail address',
  repeated: 'was given twice',
  already_member: 'is already a member',
  already_invited: 'is already invited',
  suspended: 'is suspended; to end this, use "countersignd org activate"',
  role_not_allowed: 'can be invited as an owner only by an owner',
}

/**
 * The reasons that count as errors. An address that already belongs to a member or is already
 * invited is not an error.
 */
const FAULTS: readonly (keyof typeof REASONS)[] = ['invalid_email', 'role_not_allowed', 'suspended']

const linesOf = ({ invited, skipped }: Invited): string[] => [
  ...invited.map(({ id, email, role, state }) =>
    // `invited` contains an active member only if the invitation raised the member's role.
    [id, shown(email ?? ''), ...(state === 'active' ? [`is now ${role}`] : [])].join('  '),
  ),
  ...skipped.map(({ email, reason }) => `not invited  ${shown(email)} ${REASONS[reason]}`),
]

const MOST_ARGUMENTS = 10_000

export const orgInvite: Command = {
  usage: 'ADDRESS… | --file FILE|- [--role member|admin|owner] [--json]',
  help: `
Invites people to the current organisation by their e-mail addresses. A person who signs in with an invited address
becomes a member. If an account has already confirmed the address, the account becomes a member within 75 minutes,
when its session is renewed, or immediately with "countersignd org activate". Only owners and admins can invite.

  --file FILE   read the addresses from a file with one address per line (-: from standard input)
  --role ROLE   the role of the new members: member, admin or owner (default: member). Only an owner can invite owners

Each address is handled separately, so a wrong address does not affect the others. If an address is already invited
or belongs to a member, it is not invited again. If the role given with --role has more rights than the current role
of the invitation or member, it replaces the current role. The exit code is 1 if an address was rejected.`,
  examples: {
    'org invite bob@example.org cleo@example.org': 'invite two people',
    'org invite --file staff.txt --role member': 'invite the addresses in a file',
  },
  options: { file: { type: 'string' }, role: { type: 'string' } },
  args: [0, MOST_ARGUMENTS],
  async run({ args, options, io, withApi, print, say }) {
    const role = OrgRole.options.find((known) => known === (options['role'] ?? 'member'))
    if (role === undefined)
      throw new UsageError(`--role must be one of: ${OrgRole.options.join(', ')}.`)
    const { file } = options
    const addresses = [...args, ...(file === undefined ? [] : await addressesIn(String(file), io))]
    if (addresses.length === 0)
      throw new UsageError('Give at least one e-mail address, or --file with a file of addresses.')
    const done: Invited = { invited: [], skipped: [] }
    const report = () => {
      print(done, linesOf(done))
      say(`Invited ${done.invited.length} of ${addresses.length}.`)
    }
    try {
      await withApi(async (api) => {
        for (let from = 0; from < addresses.length; from += MOST_INVITES) {
          const some = addresses.slice(from, from + MOST_INVITES)
          const invites = some.map((email) => ({ email, role }))
          const { invited, skipped } = await api.orgMembers.bulkInvite({ body: { invites } })
          done.invited.push(...invited)
          done.skipped.push(...skipped)
        }
      })
    } catch (error) {
      if (done.invited.length + done.skipped.length > 0) report()
      throw error
    }
    report()
    return done.skipped.some(({ reason }) => FAULTS.includes(reason)) ? EXIT.failed : EXIT.ok
  },
}

const move = (of: {
  help: string
  work: (api: Api, id: string) => Promise<OrgMember>
  describe: (name: string, member: OrgMember) => string
}): Command => ({
  usage: 'MEMBER [--json]',
  help: of.help,
  args: [1, 1],
  takes: ['organisation member'],
  async run({ args: [id = ''], withApi, print, say }) {
    const member = await byId('organisation member', () => withApi((api) => of.work(api, id)))
    print(member, [])
    say(of.describe(calledOf(member), member))
  },
})

export const orgActivate = move({
  help: `
Ends the suspension of a member: an account or an invited address ("countersignd org members"). If an account has
confirmed the invited address, the account becomes a member. If the invited address is suspended and no account has
confirmed it, the address is invited again.`,
  work: (api, id) => api.orgMembers.activate({ id }),
  describe: (name, { state }) =>
    `${name} is ${state === 'invited' ? 'invited again' : 'an active member'}.`,
})

export const orgSuspend = move({
  help: `
Suspends a member, who then has no access to the organisation until you use "countersignd org activate". The account
of a suspended person does not change. The tokens and sessions of a suspended machine account are rejected. If MEMBER
is an invited address, the invitation cannot be used to join. Only owners and admins can suspend other
members. Every member can suspend themselves, which is the way to leave an organisation. The last active owner
cannot be suspended.`,
  work: (api, id) => api.orgMembers.suspend({ id }),
  describe: (name, { user_id }) =>
    user_id === null ? `The invitation of ${name} is suspended.` : `${name} is suspended.`,
})

/** Returns a note as one line. */
const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

export const externalList = listCommand({
  help: 'Lists external members, newest first. External members are people without an account who can get guest codes.',
  work: (api, query) => api.externalMembers.list(query),
  heading: ['ID', 'NAME', 'EMAIL', 'PHONE', 'NOTE'],
  row: ({ id, display_name, email, phone, note }) => [
    id,
    display_name,
    email ?? '',
    phone ?? '',
    onOneLine(note ?? ''),
  ],
})

export const externalCreate = createCommand({
  usage: '--name NAME [--email ADDRESS] [--phone NUMBER] [--note TEXT] [--json]',
  help: `
Adds an external member: a person without an account who can get guest codes. To create a guest code for them, use
"countersignd guest create --for EXTERNAL". This command sends them no message.

  --name NAME       the name, which the page of their guest codes shows
  --email ADDRESS   the address to which "countersignd guest send" mails the links of their guest codes
  --phone NUMBER    a phone number that only you see; "countersignd call" shows it when you call them
  --note TEXT       a note that only you see`,
  examples: {
    'external create --name "Dr. Roth" --email roth@example.org': 'add a person without an account',
  },
  fields: {
    display_name: textField('name'),
    email: textField('email'),
    phone: textField('phone'),
    note: textField('note'),
  },
  needed: ['display_name'],
  work: (api, body) => api.externalMembers.create({ body }),
  shows: ({ id, display_name: name }) => itemAnswer({ id, name }),
  next: ({ id, display_name: name }) =>
    `To create a guest code for them: countersignd guest create --for ${typedName({ id, name })} --label LABEL`,
})

export const externalDelete = deleteCommand({
  kind: 'external member',
  help: 'Deletes an external member and revokes their guest codes. The words of these codes no longer verify on this device.',
  work: (api, id) => api.externalMembers.delete({ id }),
  done: (person) => `Deleted ${person} and revoked their guest codes.`,
})

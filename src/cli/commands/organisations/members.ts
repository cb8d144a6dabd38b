import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { every } from '../../../api/cursor.ts'
import { MOST_INVITES, type OrgGroup, type OrgMember, OrgRole } from '../../../api/rest/org.ts'
import { isId } from '../../../crypto/encoding/id.ts'
import { AppError, EXIT } from '../../../errors.ts'
import { noSuch } from '../../by-id.ts'
import { createCommand, deleteCommand, listCommand } from '../../collection.ts'
import { type Api, type Command, type Io, UsageError } from '../../command.ts'
import { textField } from '../../option-fields.ts'
import { shown, table } from '../../table.ts'

type Invited = Awaited<ReturnType<Api['orgMembers']['bulkInvite']>>

/** Returns what a member is called: the name, otherwise the address, otherwise the id. */
const calledOf = ({ display_name, email, id }: OrgMember): string =>
  shown(display_name ?? email ?? id)

/**
 * Returns a group name in the form in which names are compared.
 *
 * In this form, a name is unique in an organisation.
 */
const folded = (name: string) => name.normalize('NFC').trim().toLowerCase()

/**
 * Finds a group by id or name.
 * @throws AppError not_found
 */
function groupIn(groups: readonly OrgGroup[], named: string): OrgGroup {
  const found =
    groups.find(({ id }) => id === named) ??
    groups.find(({ name }) => folded(name) === folded(named))
  if (found === undefined) throw noSuch('group')
  return found
}

export const orgMembersCommand: Command = {
  usage: '[--group ID|NAME] [--json]',
  help: `
Lists who is in the organisation that this device acts in, machine accounts and invited addresses included, newest first.

  --group GROUP   who is in this group, by its id or name`,
  options: { group: { type: 'string' } },
  args: [0, 0],
  async run({ options, withApi, print }) {
    const { members, groups } = await withApi(async (api) => ({
      groups: await every((query) => api.orgGroups.list(query)),
      members: await every((query) => api.orgMembers.list(query)),
    }))
    const only =
      options['group'] === undefined ? null : groupIn(groups, String(options['group'])).id
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
          joined_at ?? 'not yet',
          group_ids.map((group) => names.get(group) ?? group).join(', '),
        ]),
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
      throw new UsageError(`--file: ${file} cannot be read.`, { cause })
    },
  )
  return all
    .split(/\r\n|[\r\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** The message for each reason why an address was not invited. */
const REASONS: Readonly<Record<Invited['skipped'][number]['reason'], string>> = {
  invalid_email: 'is no e-mail address',
  repeated: 'was given before',
  already_member: 'is a member already',
  already_invited: 'was invited before',
  suspended: 'is suspended: "countersignd org activate" ends that',
  role_not_allowed: 'may be invited as an owner by an owner alone',
}

/** The reasons that count as errors. An address that is already a member or invited is no error. */
const FAULTS: readonly (keyof typeof REASONS)[] = ['invalid_email', 'role_not_allowed', 'suspended']

const linesOf = ({ invited, skipped }: Invited): string[] => [
  ...invited.map(({ id, email, role, state }) =>
    // `invited` contains an active member only if the invitation raised the member's role.
    [id, shown(email ?? ''), ...(state === 'active' ? [`is ${role} now`] : [])].join('  '),
  ),
  ...skipped.map(({ email, reason }) => `not invited  ${shown(email)} ${REASONS[reason]}`),
]

const MOST_ARGUMENTS = 10_000

export const orgInvite: Command = {
  usage: 'ADDRESS… | --file FILE|- [--role member|admin|owner] [--json]',
  help: `
Invites addresses to the organisation that this device acts in. A person who signs in with one becomes a member; an account that
has already proven it becomes one when its session is renewed, within 75 minutes, or by "countersignd org activate". Owners and
admins may.

  --file FILE   with one address a line; - reads them from a pipe
  --role ROLE   member (the default), admin or owner; only an owner may invite owners

Each address is handled separately: a wrong one does not stop the others. A second run invites no one twice. It gives a person who
is invited or a member a wider role, never a narrower one. Exits with 1 if an address was refused.`,
  options: { file: { type: 'string' }, role: { type: 'string' } },
  args: [0, MOST_ARGUMENTS],
  async run({ args, options, io, withApi, print, say }) {
    const role = OrgRole.options.find((known) => known === (options['role'] ?? 'member'))
    if (role === undefined) throw new UsageError(`--role is one of ${OrgRole.options.join(', ')}.`)
    const { file } = options
    const addresses = [...args, ...(file === undefined ? [] : await addressesIn(String(file), io))]
    if (addresses.length === 0) throw new UsageError('Give an address, or a --file of addresses.')
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

/**
 * Runs a function on a member.
 *
 * If the text cannot be a member's id, no request is sent.
 * @throws AppError `not_found`
 */
async function byMember(id: string, work: () => Promise<OrgMember>): Promise<OrgMember> {
  const none = (cause?: unknown) =>
    new AppError(
      'not_found',
      'There is no member with this id in the organisation that this device acts in. "countersignd org members" shows them.',
      { cause },
    )
  if (!['acc_', 'mem_', 'mch_'].some((prefix) => isId(prefix, id))) throw none()
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError && error.code === 'not_found' ? none(error) : error
  }
}

const move = (of: {
  help: string
  work: (api: Api, id: string) => Promise<OrgMember>
  told: (name: string, member: OrgMember) => string
}): Command => ({
  usage: 'ID [--json]',
  help: of.help,
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    const member = await byMember(id, () => withApi((api) => of.work(api, id)))
    print(member, [])
    say(of.told(calledOf(member), member))
  },
})

export const orgActivate = move({
  help: `
Ends the suspension of a member, or makes a member of an invited address that an account has proven. ID is that
of the account, or of the invited address. A suspended address that no account has proven is invited again.`,
  work: (api, id) => api.orgMembers.activate({ id }),
  told: (name, { state }) =>
    `${name} is ${state === 'invited' ? 'invited again' : 'an active member'}.`,
})

export const orgSuspend = move({
  help: `
Suspends a member: they have no access to the organisation until "countersignd org activate". Nothing of a person's own account
changes; the tokens and sessions of a machine account are refused. A suspended invitation cannot be used to join. Owners and admins
may. Each member may suspend themselves: this is how to leave. The last active owner stays.`,
  work: (api, id) => api.orgMembers.suspend({ id }),
  told: (name, { user_id }) =>
    user_id === null ? `The invitation of ${name} is held back.` : `${name} is suspended.`,
})

/** Returns a note as one line. */
const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

export const externalList = listCommand({
  help: 'Lists external members, newest first: people without an account, for guest codes.',
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
Adds a person without an account, for guest codes: "countersignd guest create --for ID". They get no message.

  --name NAME       shown on the page of their guest codes
  --email ADDRESS   where "countersignd guest send" mails their links
  --phone NUMBER    for yourself
  --note TEXT       for yourself`,
  fields: {
    display_name: textField('name'),
    email: textField('email'),
    phone: textField('phone'),
    note: textField('note'),
  },
  needed: { display_name: '--name is missing: the name of the person.' },
  work: (api, body) => api.externalMembers.create({ body }),
  line: ({ id, display_name }) => `${id}  ${shown(display_name)}`,
  next: ({ id }) => `A guest code for them: countersignd guest create --for ${id} --label LABEL`,
})

export const externalDelete = deleteCommand({
  kind: 'external member',
  help: 'Deletes an external member, and revokes the guest codes that are for them: their words prove nothing here from now on.',
  work: (api, id) => api.externalMembers.delete({ id }),
  done: (id) => `Deleted ${id}, and revoked the guest codes that were for them.`,
})

/** An organisation on an account server in this process, with people who join it in every way. */
import { every } from '../../../src/api/cursor.ts'
import type { Account } from '../../../src/api/port.ts'
import type { OrgMember, OrgRole } from '../../../src/api/rest/org.ts'
import { type Mailboxes, openMailboxes } from '../emails-subject.ts'
import type { Engine } from '../engines.ts'
import { type Person, newAddress } from '../person.ts'

type By = { readonly account: Account }

/** Makes an organisation the active one of a session. */
export const use = ({ account }: By, organisation_id: string | null) =>
  account.context.activeOrg({ body: { organisation_id } })
export const activeOf = async ({ account }: By) =>
  (await account.context.read({})).active_organisation
/** Returns all members and invited mailboxes, newest first. */
export const listed = ({ account }: By): Promise<OrgMember[]> =>
  every((query) => account.orgMembers.list(query))
export const inviteAll = ({ account }: By, invites: { email: string; role?: OrgRole }[]) =>
  account.orgMembers.bulkInvite({ body: { invites } })
/** Invites one mailbox that may be invited. */
export async function invite(by: By, email: string, role: OrgRole = 'member'): Promise<OrgMember> {
  const { invited, skipped } = await inviteAll(by, [{ email, role }])
  if (invited[0] === undefined) throw new Error(`${email}: ${skipped[0]?.reason}`)
  return invited[0]
}
export const activate = ({ account }: By, id: string) => account.orgMembers.activate({ id })
export const suspend = ({ account }: By, id: string) => account.orgMembers.suspend({ id })
/** An activity of the organisation; `events` returns them oldest first. */
export type Event = { event: string; actor: string | null; target: string | null }

/** Opens a server with mailboxes and organisations. The caller closes it. */
export async function openOrganisation(engine: Engine) {
  const mailboxes: Mailboxes = await openMailboxes(engine)
  const { hand, subject } = mailboxes

  /** Enrols a person with an active organisation. */
  async function owner(called = 'Ada', name = 'Acme') {
    const person = await mailboxes.byMail(newAddress(), called)
    const { id: organisation } = await person.account.organisations.create({ body: { name } })
    await use(person, organisation)
    return { ...person, organisation }
  }

  /** Enrols a new person who joins by an invitation and makes the organisation the active one. */
  async function member(
    by: By & { organisation: string },
    role: OrgRole = 'member',
    called = 'Bob',
  ): Promise<Person & { address: string; organisation: string }> {
    const address = newAddress()
    await invite(by, address, role)
    const person = await mailboxes.byMail(address, called)
    await use(person, by.organisation)
    return { ...person, address, organisation: by.organisation }
  }

  async function events(organisation: string): Promise<Event[]> {
    const rows = await hand.db
      .selectFrom('organisation_activities')
      .select(['event', 'actor_id', 'target'])
      .where('organisation_id', '=', organisation)
      .orderBy('id')
      .execute()
    return rows.map(({ event, actor_id: actor, target }) => ({ event, actor, target }))
  }

  /** Renews the session of a person. */
  const renew = (person: Person) =>
    subject.server.door(person.keys.auth).session.renew({
      body: { refresh_token: person.enrolment.session.refresh_token },
    })

  return { ...mailboxes, owner, member, events, renew }
}

export type Organisations = Awaited<ReturnType<typeof openOrganisation>>

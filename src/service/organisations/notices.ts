/** What people are told of their membership in an organisation. Anybody can make one and give it any name. */
import type { OrgRole } from '../../api/rest/org.ts'
import type { ActiveOrganisation } from '../accounts/active-organisation.ts'
import { quoted } from '../mail/quoting.ts'
import type { Note } from '../mail/notices.ts'

type Organisation = Pick<ActiveOrganisation, 'id' | 'name'>

/** Somebody invites a mailbox of theirs. */
export const invitedNote = (from: string, { id, name }: Organisation): Note => ({
  kind: 'org_invited',
  title: `${quoted(from)} invites you to an organisation`,
  body:
    `Somebody who calls themselves ${quoted(from)} invites you to an organisation that they call ${quoted(name)}. ` +
    'You are a member from the next time on that a device of yours renews its session; who is in it then sees your name and this address. Whoever does not want that suspends themselves there ("countersignd org suspend").',
  data: { organisation_id: id },
})

/** Somebody suspended them. */
export const suspendedNote = ({ id, name }: Organisation): Note => ({
  kind: 'org_suspended',
  title: `You are suspended in ${quoted(name)}`,
  body: `An owner or admin of the organisation ${quoted(name)} suspended you there. You cannot act in it until one of them activates you; nothing of your own account has changed.`,
  data: { organisation_id: id },
})

/** Somebody took them in, or ended their suspension. */
export const activatedNote = ({ id, name }: Organisation): Note => ({
  kind: 'org_activated',
  title: `You are a member of ${quoted(name)}`,
  body: `An owner or admin of the organisation ${quoted(name)} made you an active member of it. Who is in it sees your name and the address that was invited.`,
  data: { organisation_id: id },
})

/** Somebody gave them a wider role. */
export const roleNote = ({ id, name }: Organisation, role: OrgRole): Note => ({
  kind: 'org_role_changed',
  title: `Your role in ${quoted(name)} is ${role} now`,
  body: `An owner or admin of the organisation ${quoted(name)} gave you the role ${role}.`,
  data: { organisation_id: id },
})

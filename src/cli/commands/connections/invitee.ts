/** People in the notation of the command line: by mailbox or by account id. */
import { calledOf } from '../../../api/name-text.ts'
import type { Invitee } from '../../../api/rest/connections.ts'
import type { Invitation, Party } from '../../../api/rest/invitations.ts'
import { ID_PREFIX, isId } from '../../../crypto/encoding/id.ts'
import { UsageError } from '../../command.ts'
import { shown } from '../../table.ts'

/**
 * Parses a mailbox or an account id.
 * @throws UsageError for another text
 */
export function inviteeOf(text: string): Invitee {
  if (isId(ID_PREFIX.account, text)) return { user_id: text }
  if (text.includes('@')) return { email: text }
  throw new UsageError(
    `"${shown(text)}" is neither an e-mail address nor the id of an account (acc_…).`,
  )
}

/** Returns the name of one side of an invitation, or its account id if it has no name. */
function nameOf({ display_name, name_source, name_marks, user_id }: Party): string {
  if (display_name === null || name_source === null) return user_id ?? ''
  return calledOf({ display_name, name_source, name_marks })
}

/** Returns the inviter with name and mailbox: "Ada <ada@example.org>". */
export function inviterOf({ from }: Pick<Invitation, 'from'>): string {
  const { email } = from
  const name = nameOf(from)
  return email === null ? name : `${name} <${email}>`
}

/** Returns the invitee by mailbox, or by name if there is no mailbox. */
export const invitedOf = ({ to }: Pick<Invitation, 'to'>): string => to.email ?? nameOf(to)

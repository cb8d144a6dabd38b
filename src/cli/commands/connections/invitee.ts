/** People as the command line names them: by mailbox or by account. */
import { calledOf } from '../../../api/name-text.ts'
import type { Invitee } from '../../../api/rest/connections.ts'
import type { Invitation, Party } from '../../../api/rest/invitations.ts'
import { PREFIX, isId } from '../../../crypto/encoding/id.ts'
import { UsageError } from '../../command.ts'
import { shown } from '../../table.ts'

/** Whom a word names. Throws UsageError for what is neither an address nor the id of an account. */
export function inviteeOf(text: string): Invitee {
  if (isId(PREFIX.account, text)) return { user_id: text }
  if (text.includes('@')) return { email: text }
  throw new UsageError(
    `"${shown(text)}" is neither a mail address nor the id of an account (acc_…).`,
  )
}

/** A side of an invitation, by name where it has one. */
function nameOf({ display_name, name_source, name_marks, user_id }: Party): string {
  if (display_name === null || name_source === null) return user_id ?? ''
  return calledOf({ display_name, name_source, name_marks })
}

/** The inviter, as one knows them: "Ada <ada@example.org>". */
export function inviterOf({ from }: Pick<Invitation, 'from'>): string {
  const { email } = from
  const name = nameOf(from)
  return email === null ? name : `${name} <${email}>`
}

/** Who was invited, by what was given. */
export const invitedOf = ({ to }: Pick<Invitation, 'to'>): string => to.email ?? nameOf(to)

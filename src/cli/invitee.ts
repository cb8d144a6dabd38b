/** People as the command line names them: by mailbox or by account. */
import type { Invitee } from '../api/rest/connections.ts'
import type { Invitation } from '../api/rest/invitations.ts'
import { PREFIX, isId } from '../crypto/id.ts'
import { UsageError } from './command.ts'
import { shown } from './table.ts'

/** Whom a word names. Throws UsageError for what is neither an address nor the id of an account. */
export function inviteeOf(text: string): Invitee {
  if (isId(PREFIX.account, text)) return { user_id: text }
  if (text.includes('@')) return { email: text }
  throw new UsageError(
    `"${shown(text)}" is neither a mail address nor the id of an account (acc_…).`,
  )
}

/** The inviter, as one knows them: "Ada <ada@example.org>". */
export function inviterOf({ from }: Pick<Invitation, 'from'>): string {
  const { display_name, email, user_id } = from
  const name = display_name ?? user_id ?? ''
  return email === null ? name : `${name} <${email}>`
}

/** Who was invited, by what was given. */
export const invitedOf = ({ to: { email, display_name, user_id } }: Pick<Invitation, 'to'>) =>
  email ?? display_name ?? user_id ?? ''

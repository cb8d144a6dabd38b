import { ID_PREFIX } from '../../../../crypto/encoding/id.ts'

/** Returns an invitee for the API: an account by its id, or else an address. */
export const typedInvitee = (typed: string): { user_id: string } | { email: string } => {
  const text = typed.trim()
  return text.startsWith(ID_PREFIX.account) ? { user_id: text } : { email: text }
}

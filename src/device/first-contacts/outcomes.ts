/** The outcomes of first contacts: their messages for the user and their form in the API. */
import { timeAt } from '../../api/fields.ts'
import {
  CONTACT_REASONS,
  type ContactReason,
  type FirstContact,
} from '../../api/rest/first-contacts.ts'
import type { Failure } from '../../crypto/contact-messages.ts'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { type Naming, nameOf } from '../names.ts'
import type { FirstContactRow } from '../../state/invitations.ts'

const NEW_WORDS =
  'Ask for new words. The other side creates them with "countersignd invite CONNECTION ADDRESS --words".'

/** The advice for failures that new words alone do not solve. */
const COMPARE =
  'Wait a minute, sync, and try once more with new words. If it fails again, compare the safety number ("countersignd trust list"): the account server may be dishonest.'

/** The message for each failure, by the role of this device. */
const FAILED: Readonly<Record<ContactReason, Readonly<Record<FirstContactRow['role'], string>>>> = {
  wrong_words: {
    inviter:
      'The words typed on the other side do not match those of this device. Nothing was confirmed, and these words cannot be used again. A word may have been misheard. Create new words and read them out again. If they were typed correctly, another person may have answered.',
    invitee: `These are not the words of the inviter’s device. Nothing was approved or confirmed, and the words allow only one try. ${NEW_WORDS}`,
  },
  words_expired: {
    inviter:
      'The first contact was not completed within 15 minutes, so the words have expired. Create new words when you are both ready.',
    invitee: `The inviter’s device did not answer before the words expired. It may have been off. Nothing was confirmed. ${NEW_WORDS}`,
  },
  ad_mismatch: {
    inviter: `The account server showed the two devices different keys or different members. Nothing was confirmed. ${COMPARE}`,
    invitee: `The account server showed the two devices different keys or different members. Nothing was approved or confirmed. ${COMPARE}`,
  },
  message_refused: {
    inviter: `The message that the account server delivered does not answer these words. Nothing was confirmed. ${COMPARE}`,
    invitee: `The message that the account server delivered does not answer these words. Nothing was approved or confirmed. ${COMPARE}`,
  },
}

/** Returns the reason shown to the user for a failure that one device reported to the other. */
export const reasonOf = (failure: Failure): ContactReason =>
  failure === 'tag_mismatch'
    ? 'wrong_words'
    : failure === 'cpace_abort'
      ? 'message_refused'
      : failure

/** The messages for words that are not checked at all. */
const NOT_TRIED = {
  no_words: `The inviter’s device has no valid words for this invitation. They have expired, or none were created. Nothing was approved. ${NEW_WORDS}`,
  words_used: `These words have already been used, and words allow only one try. Nothing was approved. ${NEW_WORDS}`,
  too_many_tries:
    'Words for this invitation were tried three times in 15 minutes. Nothing was approved. Wait 15 minutes, then ask for new words. Or approve without words and compare the safety number.',
  under_way:
    'A first contact for this invitation is already in progress. "countersignd invite contacts" shows its result.',
} as const

/** Returns the error for words that were not checked. */
export const notTried = (state: keyof typeof NOT_TRIED): AppError =>
  new AppError('invalid_state', NOT_TRIED[state], { details: { state } })

const reasonIn = ({ reason }: FirstContactRow): ContactReason =>
  CONTACT_REASONS.find((one) => one === reason) ?? 'message_refused'

/** Returns the error for a failed first contact. */
export const failedContact = (row: FirstContactRow): AppError =>
  new AppError('invalid_state', FAILED[reasonIn(row)][row.role], {
    details: { state: reasonIn(row) },
  })

/** Returns a first contact in the form of the API. */
export function contactOf(naming: Naming, row: FirstContactRow): FirstContact {
  const { state, role } = row
  const reason = state === 'failed' ? reasonIn(row) : null
  return {
    invitation_id: row.invitation,
    connection_id: row.connection,
    role,
    with: row.peer,
    name: isId(ID_PREFIX.account, row.peer) ? nameOf(naming, row.peer, row.peer) : null,
    state: state === 'answered' ? 'open' : state,
    reason,
    message:
      reason !== null
        ? FAILED[reason][role]
        : state === 'confirmed'
          ? 'Both devices have the same words. The other side is confirmed.'
          : null,
    started_at: timeAt(row.started_at),
    expires_at: timeAt(row.until),
  }
}

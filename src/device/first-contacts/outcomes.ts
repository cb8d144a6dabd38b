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
  'Ask for new words: "countersignd invite CONNECTION ADDRESS --words" makes them on the other side.'

/** The advice for failures that new words alone do not solve. */
const COMPARE =
  'Wait a minute, sync, and try once more with new words. If it fails again, compare the safety number ("countersignd trust list"): the account server may be dishonest.'

/** The message for each failure, by the role of this device. */
const FAILED: Readonly<Record<ContactReason, Readonly<Record<FirstContactRow['role'], string>>>> = {
  wrong_words: {
    inviter:
      'The words that were typed on the other side are not those of this device. Nothing was confirmed, and the words are used up. A word may have been misheard: make new words and read them out again. If they were typed correctly, another person may have answered.',
    invitee: `These are not the words of the inviter’s device, and words are good for one try. Nothing was approved or confirmed. ${NEW_WORDS}`,
  },
  words_expired: {
    inviter:
      'The first contact was not completed within 15 minutes, so the words have expired. Make new words when you are both ready.',
    invitee: `The inviter’s device did not answer while the words were good: perhaps it was off. Nothing was confirmed. ${NEW_WORDS}`,
  },
  ad_mismatch: {
    inviter: `The two devices were shown different keys or different members by the account server. Nothing was confirmed. ${COMPARE}`,
    invitee: `The two devices were shown different keys or different members by the account server. Nothing was approved or confirmed. ${COMPARE}`,
  },
  message_refused: {
    inviter: `What the account server delivered is no answer to these words. Nothing was confirmed. ${COMPARE}`,
    invitee: `What the account server delivered is no answer to these words. Nothing was approved or confirmed. ${COMPARE}`,
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
  no_words: `The inviter’s device has no words open for this invitation: they ended, or none were made. Nothing was approved. ${NEW_WORDS}`,
  words_used: `These words were used already, and each are good for one try. Nothing was approved. ${NEW_WORDS}`,
  too_many_tries:
    'Words of this invitation were tried three times in 15 minutes. Nothing was approved. Wait until 15 minutes have passed, then ask for new words; or approve without words and compare the safety number.',
  under_way:
    'A first contact for this invitation is under way already: "countersignd invite contacts" shows what comes of it.',
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
          ? 'Both devices have the same words: the other side is confirmed.'
          : null,
    started_at: timeAt(row.started_at),
    expires_at: timeAt(row.until),
  }
}

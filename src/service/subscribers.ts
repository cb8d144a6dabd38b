/**
 * The subscribers of each event, in this order: letters, notifications, then organisations'
 * activity. `events.ts` explains the order.
 */
import {
  endNoticeOfEnding,
  endNoticeOfRequest,
  endNoticesOfLink,
  letterOfEmail,
  noticeOfEmail,
  letterOfDevice,
  letterOfRecoveryKey,
  letterOfReset,
  letterOfWebhook,
  noticeOfDevice,
  noticeOfRecoveryKey,
  noticeOfRevocation,
  noticesOfReset,
  noticeOfExport,
  noticeOfFailure,
  noticeOfOpening,
  noticeOfRequest,
  noticeOfWebhook,
  noticesOfEnding,
} from './notices/account.ts'
import { touchContacts } from './connections/connection-rows.ts'
import { markDevices, markFollowers, markKeyLog } from './devices/key-log-marks.ts'
import { markInvited } from './accounts/invitation-marks.ts'
import { letterOfInvitation } from './connections/invitation-letters.ts'
import {
  noticeOfAnswer,
  noticeOfInvitation,
  noticesOfDeletion,
  noticesOfEntry,
  noticesOfExpiry,
  noticesOfWithdrawal,
} from './notices/connections.ts'
import type { ServiceContext } from './context.ts'
import type { Subscribers } from './events.ts'
import { letterOfRequest } from './links/open-link-letters.ts'
import { settleApproval } from './links/open-link-requests.ts'
import { activity, ownActivity } from './organisations/activity-subscribers.ts'
import { joining } from './organisations/joining.ts'
import { markMembers } from './organisations/organisation-marks.ts'
import {
  lettersOfInvites,
  noticeOfMember,
  noticesOfInvites,
  noticesOfRoles,
} from './notices/organisations.ts'
import { historyOfCard, historyOfChange, historyOfVerifications } from './trust/history.ts'

export const subscribers = (ground: ServiceContext): Subscribers => ({
  'account.signed_in': [joining(ground)],
  'account.reset': [markFollowers, letterOfReset(ground), noticesOfReset],
  'email.added': [markInvited, letterOfEmail(ground), noticeOfEmail, joining(ground)],
  'key_log.appended': [touchContacts, markKeyLog, markDevices],
  'profile.signed': [touchContacts, markKeyLog, markFollowers, markInvited],
  'device.added': [letterOfDevice(ground), noticeOfDevice],
  'device.revoked': [noticeOfRevocation],
  'recovery_key.changed': [letterOfRecoveryKey(ground), noticeOfRecoveryKey],
  'webhook.given_up': [letterOfWebhook(ground), noticeOfWebhook],
  'token.created': [ownActivity(ground, 'token.created')],
  'token.revoked': [ownActivity(ground, 'token.revoked')],

  'connection.created': [ownActivity(ground, 'connection.created')],
  'roster.appended': [noticesOfEntry],
  'member.deleted': [noticesOfDeletion],
  'invitation.sent': [letterOfInvitation(ground), noticeOfInvitation],
  'invitation.answered': [noticeOfAnswer],
  'invitation.withdrawn': [noticesOfWithdrawal],
  'invitation.expired': [noticesOfExpiry],

  'guest_code.opened': [noticeOfOpening],
  'guest_code.ending': [noticesOfEnding],
  'guest_code.revoked': [endNoticeOfEnding],
  'open_link.requested': [letterOfRequest(ground), noticeOfRequest],
  'open_link.approved': [settleApproval],
  'open_link.answered': [endNoticeOfRequest],
  'open_link.deleted': [endNoticesOfLink],
  'trust_card.created': [historyOfCard],
  'trust_card.changed': [historyOfChange],
  'verification.logged': [historyOfVerifications, ownActivity(ground, 'verification.logged')],
  'export.ready': [noticeOfExport],
  'export.failed': [noticeOfFailure],
  'stamp.created': [ownActivity(ground, 'stamp.created')],

  'machine.created': [markMembers, activity(ground, 'machine.created')],
  'organisation.invited': [
    markMembers,
    lettersOfInvites(ground),
    noticesOfInvites,
    activity(ground, 'organisation.invited'),
  ],
  'organisation.joined': [markMembers, activity(ground, 'organisation.joined')],
  'organisation.left': [markMembers, activity(ground, 'organisation.left')],
  'organisation.member_changed': [
    markMembers,
    noticeOfMember,
    activity(ground, 'organisation.member_changed'),
  ],
  'organisation.roles_widened': [
    markMembers,
    noticesOfRoles,
    activity(ground, 'organisation.roles_widened'),
  ],
  'organisation.group': [markMembers, activity(ground, 'organisation.group')],
  'organisation.alert': [activity(ground, 'organisation.alert')],
})

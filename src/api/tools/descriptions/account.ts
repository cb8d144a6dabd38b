/** Tools for the own account and its assistant. */
import type { Texts } from './text.ts'

export const account: Texts<
  | 'context'
  | 'profile'
  | 'profiles'
  | 'preferences'
  | 'notifications'
  | 'devices'
  | 'sessions'
  | 'emails'
  | 'exports'
  | 'apiTokens'
  | 'chat'
  | 'feedback'
> = {
  context_read: {
    title: 'Read who the account is',
    description:
      'The account (id, name, email), its organisations with your role in each, and which is active. The ids here (org_…) are for context_active_org. The daemon itself: status_read.',
  },
  context_active_org: {
    title: 'Switch the active organisation',
    description:
      'Choose in which of your organisations the org_… tools act, or null for none. Call it before the first of them. It holds for this session, your other devices keep theirs. Ids from context_read.',
  },
  profile_read: {
    title: 'Read your own profile',
    description:
      'Your name, handle and headline; while the public code is on, also your words of this minute to SAY to strangers. Of another person: profiles_read.',
  },
  profile_update: {
    title: 'Change your own profile',
    description:
      'Change your name, handle or headline, which others see; what is left out stays. A handle that you give up may become another’s. Settings: preferences_update.',
  },
  profiles_read: {
    title: 'Read the profile of a person',
    description:
      'Public name, handle and kind of one account, by its id. It proves nothing of who is on the line: verify_words. Your own: profile_read.',
  },
  profiles_keys: {
    title: 'List the public keys of a person',
    description:
      'Active public keys of one account, checked against its key log, as for checking a stamp’s signature by hand. Whether keys changed: trust_cards_list.',
  },
  preferences_read: {
    title: 'Read your preferences',
    description:
      'Language, time zone, whether invitations and alerts are mailed, and whether the public code is on. Its words: profile_read.',
  },
  preferences_update: {
    title: 'Change your preferences',
    description:
      'Change language, time zone, mails, or the public code; what is left out stays. public_code true lets others look up your public words; switched off and on it has a new secret. Name and handle: profile_update.',
  },
  notifications_list: {
    title: 'List notifications',
    description:
      'Notifications of this account, newest first, with the ids they are about. Marks nothing as read: notifications_read does. What happened in an organisation: org_activity_list.',
  },
  notifications_delete: {
    title: 'Delete notifications',
    description:
      'Delete the notifications in "id", or ALL of them if it is left out. Not undone. To mark them only: notifications_read.',
  },
  notifications_read: {
    title: 'Mark notifications as read',
    description:
      'Mark the notifications in "ids" as read, or all if it is left out; answers how many. To see them: notifications_list.',
  },
  devices_list: {
    title: 'List your devices',
    description:
      'Devices of this account, with those that wait for approval ("pending") and the one that answers ("current"). Where it is signed in now: sessions_list.',
  },
  devices_delete: {
    title: 'Revoke a device',
    description:
      'Shut a lost or unknown device out for good: its keys are revoked, connections get new secrets, the public code goes off; or turn away one that waits. Not undone. Not the current one. Only to sign it out: sessions_delete.',
  },
  sessions_list: {
    title: 'List sessions',
    description:
      'Where this account is signed in, with the device, when last seen and the organisation it acts for. The devices: devices_list.',
  },
  sessions_delete: {
    title: 'End a session',
    description:
      'End another session; its device signs in again by itself. Not the current one. To shut a device out: devices_delete.',
  },
  emails_list: {
    title: 'List your email addresses',
    description:
      'Email addresses of this account, with which is verified and which is primary. Mailboxes of other people: connections_list, external_members_list.',
  },
  emails_create: {
    title: 'Add an email address of yours',
    description:
      'Add an address to this account: a link is mailed there, and until it is followed the address is not verified. No tool removes it. An address gets three mails an hour. To invite a person: members_add.',
  },
  exports_list: {
    title: 'List exports',
    description:
      'Exports of the account’s data, with progress and state. Look here until one is "ready", then exports_download.',
  },
  exports_create: {
    title: 'Request an export of all your data',
    description:
      'Start an export of everything that the account server has of this account; answers an id, not a file. It is built in the background: exports_list, then exports_download.',
  },
  exports_clear: {
    title: 'Delete all exports',
    description:
      'Delete all exports with their files; links to them end. The account’s data stays. Not undone: request another with exports_create.',
  },
  exports_download: {
    title: 'Get the link to an export',
    description:
      'A link, good for five minutes, to the ZIP file of an export that is "ready". The link opens the data without a token. Before that: 409 export_not_ready, look at exports_list.',
  },
  api_tokens_list: {
    title: 'List API tokens',
    description:
      'Tokens for programs, with name, scope, state and last use; never the secrets themselves.',
  },
  api_tokens_create: {
    title: 'Create an API token',
    description:
      'Make a token for another program. Answers the secret, once: show it only to who asked, and keep it out of notes and logs. Choose the narrowest scope and a lifetime. Undo by api_tokens_delete.',
  },
  api_tokens_delete: {
    title: 'Revoke an API token',
    description:
      'End a token at once: the next request with it is refused, yours too if it is the one you use. Not undone: create another.',
  },
  chat_turn: {
    title: 'Ask the assistant',
    description:
      'Ask how Countersign works. The message goes to the account server and, where it has one, to an assistant outside. It does nothing for you and sees no account: use the other tools for that. Ids of turn and conversation for chat_rate come with the answer.',
  },
  chat_rate: {
    title: 'Rate an answer of the assistant',
    description:
      'Rate an answer of chat_turn; again replaces the rating. Anything else for the operator: feedback_send.',
  },
  feedback_send: {
    title: 'Send feedback to the operator',
    description:
      'Send a message to the people who run the account server: a problem, an idea, a question. Only if the person wants it; not called back. Questions that want an answer now: chat_turn.',
  },
}

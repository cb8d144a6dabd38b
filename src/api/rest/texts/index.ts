/**
 * The texts of all rows of *rest*.
 *
 * They are loaded when a document or the list of tools is first requested, because a running daemon
 * does not need them earlier.
 */
import type { ByRow } from '../../rows.ts'
import type { Rest } from '../index.ts'
import { accountTexts } from './account.ts'
import { apiTokenTexts } from './api-tokens.ts'
import { assistantTexts } from './assistant.ts'
import { auditTexts } from './audit.ts'
import { connectionTexts } from './connections.ts'
import { documentTexts } from './documents.ts'
import { eventTexts } from './events.ts'
import { guestCodeTexts } from './guest-codes.ts'
import { invitationTexts } from './invitations.ts'
import { openLinkTexts } from './open-links.ts'
import { orgTexts } from './org.ts'
import { profileTexts } from './profiles.ts'
import { statusTexts } from './status.ts'
import { tagTexts } from './tags.ts'
import { trustCardTexts } from './trust-cards.ts'
import { verifyTexts } from './verify.ts'
import { webhookTexts } from './webhooks.ts'
import type { RowText, Texts } from './text.ts'

const TEXTS: Texts<keyof Rest> = {
  ...statusTexts,
  ...documentTexts,
  ...verifyTexts,
  ...trustCardTexts,
  ...connectionTexts,
  ...invitationTexts,
  ...guestCodeTexts,
  ...tagTexts,
  ...openLinkTexts,
  ...profileTexts,
  ...accountTexts,
  ...orgTexts,
  ...apiTokenTexts,
  ...auditTexts,
  ...assistantTexts,
  ...eventTexts,
  ...webhookTexts,
}

/** Returns the texts of a row of *rest*. */
export const restTextOf = (group: string, name: string): RowText =>
  (TEXTS as ByRow<RowText>)[group]?.[name] as RowText

/** The description of each group. */
export const REST_GROUPS: { readonly [G in keyof Rest]: string } = {
  health: 'Shows whether the daemon is running, and what it depends on.',
  metrics: 'Numbers about the daemon, for Prometheus.',
  status: 'The state of the daemon.',
  sync: 'The exchange of changes with the account server.',
  doctor: 'The checks of the installation.',
  token: 'The first API token, created on the machine itself.',
  openapi: 'The OpenAPI document.',
  docs: 'The OpenAPI document as a web page.',
  tools: 'The routes as tools for models.',
  verify: 'Three spoken words that prove who is on the line.',
  stamp: 'Signed content that everyone can check.',
  stamps: 'The stamps of this device, and the check of any stamp.',
  verificationLog: 'Earlier checks of words and their outcomes.',
  trustCards: 'People that this device follows, to check changes of their keys.',
  trust: 'Statistics about the people that you follow.',
  connections:
    'Groups of accounts that share a secret and prove their identity to each other with words.',
  members: 'The members of a connection.',
  invitations: 'Invitations to connections, sent and received.',
  contactWords: 'Four words for a first contact, in addition to an invitation.',
  firstContacts: 'First contacts by four words on this device, and their outcomes.',
  guestCodes: 'Codes for people without an account.',
  externalMembers: 'People without an account, who can get guest codes.',
  tags: 'Your own labels for connections; others do not see them.',
  presets: 'Settings for new connections.',
  openLinks: 'Public pages on which people can ask to connect with you.',
  openLinkRequests: 'Requests to connect that were made through an open link.',
  context: 'The calling account and its active organisation.',
  profile: 'The profile of the account, which others see.',
  profiles: 'The public profiles and keys of other accounts.',
  preferences: 'The settings of the account.',
  notifications: 'Notifications of events that concern the account.',
  devices: 'The devices of the account. Each device has its own keys.',
  approvals: 'The approval of a new device by this one, with the words on both screens.',
  sessions: 'The sessions in which the account is signed in.',
  emails: 'The email addresses of the account.',
  exports: 'Files with all data that the account server stores about the account.',
  account: 'Deletion of the account.',
  organisations: 'Creation of organisations.',
  orgMembers: 'The members of the active organisation.',
  orgGroups: 'Groups of members of the active organisation.',
  orgAlerts: 'Rules that notify members when an event happens too often.',
  orgActivity: 'The events of the active organisation.',
  orgAnalytics: 'Statistics about the active organisation.',
  apiTokens: 'The tokens of the caller’s account on this daemon.',
  audit: 'Who used the account through this daemon, and whether the record is complete.',
  chat: 'The assistant.',
  feedback: 'Feedback to the operator of the account server.',
  events: 'What changes, as a stream of events.',
  webhooks: 'URLs to which this daemon sends events.',
}

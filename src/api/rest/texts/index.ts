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
import { connectionTexts } from './connections.ts'
import { documentTexts } from './documents.ts'
import { guestCodeTexts } from './guest-codes.ts'
import { invitationTexts } from './invitations.ts'
import { openLinkTexts } from './open-links.ts'
import { orgTexts } from './org.ts'
import { profileTexts } from './profiles.ts'
import { statusTexts } from './status.ts'
import { tagTexts } from './tags.ts'
import { trustCardTexts } from './trust-cards.ts'
import { verifyTexts } from './verify.ts'
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
  ...assistantTexts,
}

/** Returns the texts of a row of *rest*. */
export const restTextOf = (group: string, name: string): RowText =>
  (TEXTS as ByRow<RowText>)[group]?.[name] as RowText

/** The description of each group. */
export const REST_GROUPS: { readonly [G in keyof Rest]: string } = {
  health: 'Whether the daemon is up.',
  status: 'What the daemon knows of itself.',
  sync: 'What is exchanged with the account server.',
  token: 'The first token, from the machine itself.',
  openapi: 'This document.',
  docs: 'This document as a page.',
  tools: 'The routes as tools for models.',
  verify: 'Three spoken words that prove who is on the line.',
  stamp: 'Signed content that everyone can check.',
  verificationLog: 'Which words were checked, and what came of it.',
  trustCards: 'People whose keys this device follows.',
  trust: 'Figures of the people who are followed.',
  connections: 'What people share who prove to each other by words who they are.',
  members: 'Who is in a connection.',
  invitations: 'Invitations to connections, sent and received.',
  contactWords: 'Four words for a first contact, beside an invitation.',
  firstContacts: 'First contacts by four words: what came of them on this device.',
  guestCodes: 'Words for people without an account.',
  externalMembers: 'People without an account, for guest codes.',
  tags: 'Your own order of connections; others do not see it.',
  presets: 'What a new connection begins with.',
  openLinks: 'Pages on which people ask to connect.',
  openLinkRequests: 'Who asked to connect, by an open link.',
  context: 'Who asks, and for which organisation.',
  profile: 'What others see of the account.',
  profiles: 'What the account server shows of others.',
  preferences: 'How the account likes things.',
  notifications: 'What happened meanwhile.',
  devices: 'The devices of the account, each with keys of its own.',
  sessions: 'Where the account is signed in.',
  emails: 'The mailboxes of the account.',
  exports: 'All that the account server has of the account, as a file.',
  account: 'The account itself.',
  organisations: 'Making an organisation.',
  orgMembers: 'Who is in the active organisation.',
  orgGroups: 'Groups of members of the active organisation.',
  orgAlerts: 'Rules that notify members when an event is frequent.',
  orgActivity: 'What happened in the active organisation.',
  orgAnalytics: 'Figures of the active organisation.',
  apiTokens: 'The tokens of the caller’s account on this daemon.',
  chat: 'The assistant.',
  feedback: 'A word to the operator.',
}

/**
 * The description of each operation beyond its summary: who may call it, its effects, its cost.
 */
import type { Rest } from '../../rest/index.ts'
import { account } from './account.ts'
import { connections } from './connections.ts'
import { daemon } from './daemon.ts'
import type { Descriptions } from './descriptions.ts'
import { organisations } from './organisations.ts'

export const DESCRIPTIONS: Descriptions = {
  ...daemon,
  ...connections,
  ...account,
  ...organisations,
}

/** The description of each group. */
export const GROUPS: { readonly [G in keyof Rest]: string } = {
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

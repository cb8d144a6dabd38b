/** The sections of `--help`, and what groups of commands are for. */
import type { HelpSection } from '../command.ts'

/** The sections of `--help`, in their order. */
export const SECTIONS: Readonly<Record<HelpSection, string>> = {
  calls: 'Calls',
  people: 'Guests and connections',
  stamps: 'Stamps',
  account: 'Account, devices and keys',
  organisations: 'Organisations',
  scripts: 'Scripts and machines',
  run: 'Run and operate',
  help: 'Help',
}

/** The summaries of the words that begin commands and are no commands themselves. */
export const TOPICS: Readonly<Record<string, string>> = {
  account: 'Delete the account',
  audit: 'Check the audit log',
  config: 'Show the settings, and where they are set',
  connection: 'List, create and change connections and their members',
  device: 'List, approve, renew and revoke devices',
  email: 'List and add e-mail addresses',
  external: 'People without an account, for guest codes',
  guest: 'Guest codes: words for people without an account',
  link: 'Open links: pages where people can ask to connect with you',
  machine: 'Accounts of machines, and their tokens',
  notification: 'List, read and delete notifications',
  org: 'Organisations: members, groups, activity and alerts',
  'org alert': 'Alerts, which fire when an event happens often',
  'org group': 'Groups of members',
  preset: 'Settings for new connections',
  recovery: 'The recovery key: 24 words on paper, in case all devices are lost',
  service: 'Install the daemon as a service, or remove it',
  session: 'List and end the sessions of the account',
  tag: 'Tags, which sort your connections',
  token: 'API tokens: list, create and revoke them',
  trust: 'People you follow, and whether their keys changed',
  webhook: 'Webhooks: URLs to which the daemon sends events',
}

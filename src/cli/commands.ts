/** The table of all commands. A command's module is loaded when the command is called. */
import type { Command, Commands, Listed, HelpSection } from './command.ts'

/**
 * Returns the table entries of the commands in one module.
 * @param rows by command name: the name of the module's export, and the summary
 */
function from<Export extends string>(
  section: HelpSection,
  load: () => Promise<Readonly<Record<Export, Command>>>,
  rows: Readonly<Record<string, readonly [name: Export, summary: string]>>,
): Commands {
  const entries = Object.entries(rows).map(([command, [name, summary]]): [string, Listed] => [
    command,
    { section, summary, load: async () => (await load())[name] },
  ])
  return Object.fromEntries(entries)
}

/**
 * The commands by name, in the order in which `--help` lists them in their sections.
 *
 * A name has one to three words. Hidden commands are added below.
 */
export const COMMANDS: Commands = {
  ...from('run', () => import('./commands/serve.ts'), {
    serve: ['serveCommand', 'Run the daemon'],
    server: ['serverCommand', 'Run an account server for many daemons'],
  }),
  ...from('scripts', () => import('./commands/mcp.ts'), {
    mcp: ['mcpCommand', 'Serve the Model Context Protocol on standard input and output'],
  }),
  ...from('run', () => import('./commands/open.ts'), {
    open: ['openCommand', 'Open the console of your account in a browser'],
  }),
  ...from('run', () => import('./commands/status.ts'), {
    status: ['statusCommand', 'Show the state of the daemon'],
  }),
  ...from('run', () => import('./commands/publish.ts'), {
    publish: ['publishCommand', 'Explain and check how others can open your links'],
  }),
  ...from('run', () => import('./commands/health.ts'), {
    health: [
      'healthCommand',
      'Check whether the daemon answers, for monitors and service managers',
    ],
  }),
  ...from('run', () => import('./commands/service.ts'), {
    'service install': [
      'serviceInstall',
      'Install the daemon as a service of this user or of the whole machine',
    ],
    'service uninstall': ['serviceUninstall', 'Remove the service'],
    'service status': ['serviceStatus', 'Show whether the service is running and answers'],
    'service print': [
      'servicePrint',
      'Print the service definition for systemd, launchd or Windows',
    ],
  }),
  ...from('run', () => import('./commands/upgrade.ts'), {
    upgrade: ['upgradeCommand', 'Check a download before it replaces this program'],
  }),
  completion: {
    section: 'run',
    summary: 'Print a completion script for a shell',
    load: async () => (await import('./commands/completion.ts')).completionCommand(COMMANDS),
  },
  ...from('run', () => import('./commands/config.ts'), {
    'config show': ['configShow', 'Show every setting, its value, and where it is set'],
  }),
  ...from('run', () => import('./commands/doctor.ts'), {
    doctor: ['doctorCommand', 'Check this installation and show a remedy for each problem'],
  }),
  ...from('run', () => import('./commands/audit.ts'), {
    'audit verify': ['auditVerify', 'Check that the audit log was not changed'],
  }),
  ...from('run', () => import('./commands/backup.ts'), {
    backup: ['backupCommand', 'Write an encrypted backup of this device to a file'],
    restore: ['restoreCommand', 'Restore a backup into a new state folder'],
  }),
  ...from('run', () => import('./commands/status.ts'), {
    sync: ['syncCommand', 'Fetch new data and upload the new data of this device'],
  }),
  ...from('account', () => import('./commands/session/login.ts'), {
    login: ['loginCommand', 'Sign this device in'],
    logout: ['logoutCommand', 'Revoke this device and delete its data'],
  }),
  ...from('account', () => import('./commands/session/account.ts'), {
    whoami: ['whoamiCommand', 'Show who is signed in'],
  }),
  ...from('account', () => import('./commands/session/reset.ts'), {
    reset: ['resetCommand', 'Recover an account after all its devices were lost'],
  }),
  ...from('account', () => import('./commands/session/recovery.ts'), {
    'recovery create': [
      'recoveryCreate',
      'Create a recovery key: 24 words on paper, in case all devices are lost',
    ],
    'recovery dismiss': [
      'recoveryDismiss',
      'Dismiss the notice about a recovery key that you set yourself',
    ],
  }),
  ...from('account', () => import('./commands/session/account.ts'), {
    'account delete': ['accountDelete', 'Delete the account and everything in it permanently'],
  }),
  ...from('account', () => import('./commands/session/device.ts'), {
    'device list': ['deviceList', 'List the devices of the account'],
    'device approve': [
      'deviceApprove',
      'Approve a new device by typing the words of each screen on the other',
    ],
    'device renew': ['deviceRenew', 'Give this device a new sealing key'],
    'device revoke': ['deviceRevoke', 'Revoke a device'],
    'session list': ['sessionList', 'List the sessions of the account'],
    'session end': ['sessionEnd', 'End the session of another device'],
  }),
  ...from('account', () => import('./commands/profile.ts'), {
    'email list': ['emailList', 'List the e-mail addresses of the account'],
    'email add': ['emailAdd', 'Add an e-mail address and confirm it with a mailed link'],
    profile: ['profileCommand', 'Show your profile'],
    'profile set': ['profileSet', 'Change your profile'],
    preferences: ['preferencesCommand', 'Show your preferences'],
    'preferences set': ['preferencesSet', 'Change your preferences'],
  }),
  ...from('calls', () => import('./commands/connections/call.ts'), {
    call: ['callCommand', 'Go through a call step by step, as the caller or the person called'],
  }),
  ...from('calls', () => import('./commands/connections/verify.ts'), {
    verify: ['verifyCommand', 'Check the three words of a caller'],
  }),
  ...from('calls', () => import('./commands/connections/code.ts'), {
    code: ['codeCommand', 'Show your words for everyone, for a connection or for a guest'],
  }),
  ...from('people', () => import('./commands/connections/guest.ts'), {
    'guest list': ['guestList', 'List guest codes'],
    'guest create': ['guestCreate', 'Create a guest code and show its link once'],
    'guest qr': ['guestQr', 'Show the link of a guest code as a QR code'],
    'guest revoke': ['guestRevoke', 'Revoke a guest code'],
    'guest send': ['guestSend', 'Send the link of a guest code by mail'],
  }),
  ...from('people', () => import('./commands/connections/connection.ts'), {
    'connection list': ['connectionList', 'List connections'],
    'connection create': ['connectionCreate', 'Create a connection'],
    'connection show': ['connectionShow', 'Show one connection'],
    'connection favorite': ['connectionFavorite', 'Mark a connection as a favourite'],
    'connection rename': ['connectionRename', 'Rename a connection'],
  }),
  ...from('people', () => import('./commands/connections/connection-members.ts'), {
    'connection members': ['connectionMembers', 'List who is in a connection'],
    'connection remove-member': [
      'connectionRemoveMember',
      'Remove a member; the others get a new secret',
    ],
    'connection role': ['connectionRole', 'Make a member an owner, or an owner a member'],
    'connection leave': [
      'connectionLeave',
      'Leave a connection, which continues for its other members',
    ],
    'connection delete': [
      'connectionDelete',
      'Delete a connection; if its only owner does, it ends for all members',
    ],
  }),
  ...from('people', () => import('./commands/connections/invite.ts'), {
    invite: ['inviteCommand', 'Invite a person to a connection'],
    'invite list': ['inviteList', 'List invitations, received and sent'],
    'invite contacts': ['inviteContacts', 'List first contacts by four words'],
    'invite approve': ['inviteApprove', 'Approve an invitation'],
    'invite decline': ['inviteDecline', 'Decline an invitation'],
    'invite withdraw': ['inviteWithdraw', 'Withdraw an invitation that was sent'],
  }),
  ...from('people', () => import('./commands/tag.ts'), {
    'tag list': ['tagList', 'List your tags'],
    'tag create': ['tagCreate', 'Create a tag'],
    'tag update': ['tagUpdate', 'Rename a tag or change its colour'],
    'tag delete': ['tagDelete', 'Delete a tag'],
    'tag assign': ['tagAssign', 'Add a tag to a connection'],
    'tag unassign': ['tagUnassign', 'Remove a tag from a connection'],
  }),
  ...from('people', () => import('./commands/preset.ts'), {
    'preset list': ['presetList', 'List presets: settings for new connections'],
    'preset create': ['presetCreate', 'Create a preset'],
    'preset update': ['presetUpdate', 'Change a preset'],
    'preset delete': ['presetDelete', 'Delete a preset'],
    'preset default': ['presetDefault', 'Choose the default preset, or have none'],
  }),
  ...from('people', () => import('./commands/connections/connection.ts'), {
    rotate: ['rotateCommand', 'Give a connection a new secret'],
  }),
  ...from('people', () => import('./commands/connections/trust.ts'), {
    'trust list': ['trustList', 'List the people you follow, and whether their keys changed'],
    'trust follow': ['trustFollow', 'Follow a person, to learn when their keys change'],
    'trust confirm': ['trustConfirm', 'Confirm the keys of a person by the safety number'],
    'trust dismiss': [
      'trustDismiss',
      'Acknowledge that a person replaced all devices with the recovery key',
    ],
    'trust unfollow': ['trustUnfollow', 'Stop following a person'],
    'trust rename': ['trustRename', 'Give a person you follow a name of your own'],
    'trust note': ['trustNote', 'Write a note about a person you follow'],
    'trust history': ['trustHistory', 'Show the history of a person you follow'],
    'trust metrics': [
      'trustMetrics',
      'Show figures about the people you follow and about your checks of words',
    ],
  }),
  ...from('people', () => import('./commands/organisations/members.ts'), {
    'external list': [
      'externalList',
      'List external members: people without an account, for guest codes',
    ],
    'external create': ['externalCreate', 'Add an external member: a person without an account'],
    'external delete': ['externalDelete', 'Delete an external member and revoke their guest codes'],
  }),
  ...from('calls', () => import('./commands/log.ts'), {
    log: ['logCommand', 'Show what happened in the last days: checks of words, people, devices'],
  }),
  ...from('scripts', () => import('./commands/events.ts'), {
    events: ['eventsCommand', 'Show what changes, as it happens'],
  }),
  ...from('account', () => import('./commands/notification.ts'), {
    'notification list': ['notificationList', 'List notifications'],
    'notification read': ['notificationRead', 'Mark notifications as read'],
    'notification delete': ['notificationDelete', 'Delete notifications'],
  }),
  ...from('people', () => import('./commands/connections/link.ts'), {
    'link list': ['linkList', 'List open links'],
    'link create': [
      'linkCreate',
      'Create an open link: a page where people can ask to connect with you',
    ],
    'link suggest': ['linkSuggest', 'Suggest a free slug for an open link'],
    'link pause': ['linkPause', 'Pause an open link'],
    'link resume': ['linkResume', 'Resume an open link'],
    'link slug': ['linkSlug', 'Change the slug, and with it the address, of an open link'],
    'link delete': ['linkDelete', 'Delete an open link and its requests'],
    'link requests': [
      'linkRequests',
      'List the requests to connect that came through your open links',
    ],
    'link approve': [
      'linkApprove',
      'Approve a request: create a connection and invite the requester',
    ],
    'link decline': ['linkDecline', 'Decline a request'],
  }),
  ...from('stamps', () => import('./commands/stamp.ts'), {
    stamp: ['stampCommand', 'Sign a file on this device'],
  }),
  ...from('stamps', () => import('./commands/stamp-verify.ts'), {
    'stamp verify': ['stampVerify', 'Check a stamp offline'],
  }),
  ...from('help', () => import('./commands/assistant.ts'), {
    ask: ['askCommand', 'Ask the assistant; if there is none, the handbook answers'],
    feedback: ['feedbackCommand', 'Send feedback to the operator of the account server'],
  }),
  ...from('account', () => import('./commands/export.ts'), {
    export: ['exportCommand', 'Export all data that the account server stores about you'],
    'export list': ['exportList', 'List exports'],
    'export download': ['exportDownload', 'Download a finished export'],
    'export delete': ['exportDelete', 'Delete all exports from the account server'],
  }),
  ...from('organisations', () => import('./commands/organisations/organisations.ts'), {
    'org list': ['orgList', 'List the organisations that you are in'],
    'org create': ['orgCreate', 'Create an organisation'],
    'org use': ['orgUse', 'Choose the current organisation of this device'],
  }),
  ...from('organisations', () => import('./commands/organisations/members.ts'), {
    'org members': ['orgMembersCommand', 'List the members of the current organisation'],
    'org invite': ['orgInvite', 'Invite people to the current organisation'],
    'org activate': ['orgActivate', 'Activate a suspended member or an invited address'],
    'org suspend': ['orgSuspend', 'Suspend a member or an invitation'],
  }),
  ...from('organisations', () => import('./commands/organisations/groups.ts'), {
    'org group list': ['groupList', 'List the groups of the current organisation'],
    'org group create': ['groupCreate', 'Create a group'],
    'org group update': ['groupUpdate', 'Rename a group or change its description'],
    'org group delete': ['groupDelete', 'Delete a group; its members stay in the organisation'],
    'org group add': ['groupAdd', 'Add members to a group'],
    'org group remove': ['groupRemove', 'Remove members from a group'],
  }),
  ...from('organisations', () => import('./commands/organisations/activity.ts'), {
    'org activity': ['orgActivityCommand', 'List the events in the current organisation'],
    'org summary': [
      'orgSummary',
      'Show how often each kind of event happened, and who was most active',
    ],
    'org dashboard': ['orgDashboard', 'Show the totals of the current organisation'],
    'org trends': ['orgTrends', 'Show the number of events by day or week'],
  }),
  ...from('organisations', () => import('./commands/organisations/alerts.ts'), {
    'org alert list': [
      'alertList',
      'List the alerts of the current organisation and when they last fired',
    ],
    'org alert create': [
      'alertCreate',
      'Create an alert, which fires when an event happens often in a short time',
    ],
    'org alert update': ['alertUpdate', 'Change an alert, or switch it on or off'],
    'org alert delete': ['alertDelete', 'Delete an alert'],
  }),
  ...from('scripts', () => import('./commands/session/machine.ts'), {
    'machine create': ['machineCreate', 'Create a machine account and its key file'],
  }),
  ...from('scripts', () => import('./commands/session/machine-token.ts'), {
    'machine token': ['machineToken', 'Get an API token for a machine account with its key'],
  }),
  ...from('scripts', () => import('./commands/token.ts'), {
    'token list': ['tokenList', 'List API tokens'],
    'token create': ['tokenCreate', 'Create an API token and show it once'],
    'token revoke': ['tokenRevoke', 'Revoke an API token immediately'],
  }),
  ...from('scripts', () => import('./commands/webhook.ts'), {
    'webhook list': ['webhookList', 'List webhooks: URLs to which the daemon sends events'],
    'webhook create': ['webhookCreate', 'Create a webhook and show its secret once'],
    'webhook update': ['webhookUpdate', 'Change a webhook, pause it or let it continue'],
    'webhook delete': ['webhookDelete', 'Delete a webhook'],
    'webhook test': ['webhookTest', 'Send a test event to a webhook now'],
    'webhook deliveries': ['webhookDeliveries', 'List the last deliveries of a webhook'],
  }),
}

/** Adds a command that the program or a script runs. It is not enumerable, so no list shows it. */
const hide = (name: string, value: Listed) => Object.defineProperty(COMMANDS, name, { value })

hide('purge-apart', {
  section: 'run',
  summary: 'Empty the state folder of another user, as that user',
  load: async () => (await import('./commands/purge.ts')).purgeApartCommand,
})
hide('service-key', {
  section: 'run',
  summary: 'Create the key of the service of the whole machine',
  load: async () => (await import('./commands/service.ts')).serviceKey,
})
hide('complete-names', {
  section: 'run',
  summary: 'Print names for completion',
  load: async () => (await import('./commands/complete-names.ts')).completeNamesCommand(COMMANDS),
})

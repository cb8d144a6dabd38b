/** The table of all commands. A command's module is loaded when the command is called. */
import type { Command, Commands, Listed } from './command.ts'

/**
 * Returns the table entries of the commands in one module.
 * @param rows by command name: the name of the module's export, and the summary
 */
function from<Export extends string>(
  load: () => Promise<Readonly<Record<Export, Command>>>,
  rows: Readonly<Record<string, readonly [name: Export, summary: string]>>,
): Commands {
  const entries = Object.entries(rows).map(([command, [name, summary]]): [string, Listed] => [
    command,
    { summary, load: async () => (await load())[name] },
  ])
  return Object.fromEntries(entries)
}

/**
 * The commands by name, in the order in which `--help` lists them.
 *
 * A name has one to three words. Hidden commands are added below.
 */
export const COMMANDS: Commands = {
  ...from(() => import('./commands/serve.ts'), {
    serve: ['serveCommand', 'Run the daemon'],
    server: ['serverCommand', 'Run an account server, for many daemons'],
  }),
  ...from(() => import('./commands/mcp.ts'), {
    mcp: [
      'mcpCommand',
      'Speak the Model Context Protocol, for programs that start their tools themselves',
    ],
  }),
  ...from(() => import('./commands/status.ts'), {
    status: ['statusCommand', 'Show the state of the daemon'],
  }),
  ...from(() => import('./commands/health.ts'), {
    health: ['healthCommand', 'Ask whether the daemon answers, for monitors and unit files'],
  }),
  ...from(() => import('./commands/service.ts'), {
    'service install': [
      'serviceInstall',
      'Install the daemon as a service of this machine or user',
    ],
    'service uninstall': ['serviceUninstall', 'Remove the service'],
    'service status': ['serviceStatus', 'Show whether the service runs and answers'],
    'service print': [
      'servicePrint',
      'Print the definition of the service, for systemd, launchd or Windows',
    ],
  }),
  completion: {
    summary: 'Print a script by which a shell completes this command line',
    load: async () => (await import('./commands/completion.ts')).completionCommand(COMMANDS),
  },
  ...from(() => import('./commands/doctor.ts'), {
    doctor: ['doctorCommand', 'Check this installation, and show the remedy for each fault'],
  }),
  ...from(() => import('./commands/audit.ts'), {
    'audit verify': ['auditVerify', 'Check that the audit log was not changed'],
  }),
  ...from(() => import('./commands/backup.ts'), {
    backup: ['backupCommand', 'Write a sealed backup of all that this device keeps'],
    restore: ['restoreCommand', 'Put a backup into a new state folder'],
  }),
  ...from(() => import('./commands/status.ts'), {
    sync: ['syncCommand', 'Fetch what is new, hand over what was made here'],
  }),
  ...from(() => import('./commands/session/login.ts'), {
    login: ['loginCommand', 'Sign this device in'],
    logout: ['logoutCommand', 'Revoke this device and forget what it holds'],
  }),
  ...from(() => import('./commands/session/account.ts'), {
    whoami: ['whoamiCommand', 'Show who is signed in'],
  }),
  ...from(() => import('./commands/session/reset.ts'), {
    reset: ['resetCommand', 'Bring an account back after all its devices were lost'],
  }),
  ...from(() => import('./commands/session/recovery.ts'), {
    'recovery create': [
      'recoveryCreate',
      'Make a recovery key: 24 words on paper, for when all devices are lost',
    ],
    'recovery dismiss': [
      'recoveryDismiss',
      'Note that you set the recovery key of which this device has a notice',
    ],
  }),
  ...from(() => import('./commands/session/account.ts'), {
    'account delete': ['accountDelete', 'Delete the account and everything in it, for good'],
  }),
  ...from(() => import('./commands/session/device.ts'), {
    'device list': ['deviceList', 'List the devices of the account'],
    'device approve': ['deviceApprove', 'Approve a new device by the words of both screens'],
    'device renew': ['deviceRenew', 'Give this device a new sealing key'],
    'device revoke': ['deviceRevoke', 'Revoke a device'],
    'session list': ['sessionList', 'List the sessions of the account'],
    'session end': ['sessionEnd', 'End the session of another device'],
  }),
  ...from(() => import('./commands/profile.ts'), {
    'email list': ['emailList', 'List the e-mail addresses of the account'],
    'email add': ['emailAdd', 'Add an e-mail address, confirmed by a link that is mailed there'],
    profile: ['profileCommand', 'Show your profile'],
    'profile set': ['profileSet', 'Change your profile'],
    preferences: ['preferencesCommand', 'Show your preferences'],
    'preferences set': ['preferencesSet', 'Change your preferences'],
  }),
  ...from(() => import('./commands/connections/verify.ts'), {
    verify: ['verifyCommand', 'Check three words that a caller said'],
  }),
  ...from(() => import('./commands/connections/code.ts'), {
    code: ['codeCommand', 'Show the words to say on a connection or to a guest'],
  }),
  ...from(() => import('./commands/connections/connection.ts'), {
    'connection list': ['connectionList', 'List connections'],
    'connection create': ['connectionCreate', 'Create a connection'],
    'connection show': ['connectionShow', 'Show one connection'],
    'connection favorite': ['connectionFavorite', 'Mark a connection as a favourite'],
    'connection rename': ['connectionRename', 'Rename a connection'],
  }),
  ...from(() => import('./commands/connections/connection-members.ts'), {
    'connection members': ['connectionMembers', 'List who is in a connection'],
    'connection remove-member': [
      'connectionRemoveMember',
      'Remove a member; the others get a new secret',
    ],
    'connection role': ['connectionRole', 'Make a member an owner, or an owner a member'],
    'connection leave': ['connectionLeave', 'Leave a connection to its other members'],
    'connection delete': ['connectionDelete', 'Delete a connection that has no other members'],
  }),
  ...from(() => import('./commands/connections/invite.ts'), {
    invite: ['inviteCommand', 'Invite a person to a connection'],
    'invite list': ['inviteList', 'List invitations, received and sent'],
    'invite contacts': ['inviteContacts', 'List first contacts by four words'],
    'invite approve': ['inviteApprove', 'Approve an invitation'],
    'invite decline': ['inviteDecline', 'Decline an invitation'],
    'invite withdraw': ['inviteWithdraw', 'Withdraw an invitation that was sent'],
  }),
  ...from(() => import('./commands/tag.ts'), {
    'tag list': ['tagList', 'List your tags'],
    'tag create': ['tagCreate', 'Create a tag'],
    'tag update': ['tagUpdate', 'Rename a tag or change its colour'],
    'tag delete': ['tagDelete', 'Delete a tag'],
    'tag assign': ['tagAssign', 'Give a connection a tag'],
    'tag unassign': ['tagUnassign', 'Take a tag from a connection'],
  }),
  ...from(() => import('./commands/preset.ts'), {
    'preset list': ['presetList', 'List presets: what new connections begin with'],
    'preset create': ['presetCreate', 'Create a preset'],
    'preset update': ['presetUpdate', 'Change a preset'],
    'preset delete': ['presetDelete', 'Delete a preset'],
    'preset default': ['presetDefault', 'Make a preset the default, or none'],
  }),
  ...from(() => import('./commands/connections/connection.ts'), {
    rotate: ['rotateCommand', 'Give a connection a new secret'],
  }),
  ...from(() => import('./commands/connections/trust.ts'), {
    'trust list': ['trustList', 'List the people you follow, and whether their keys changed'],
    'trust follow': ['trustFollow', 'Follow a person, to learn when their keys change'],
    'trust confirm': ['trustConfirm', 'Confirm the keys of a person by the safety number'],
    'trust dismiss': [
      'trustDismiss',
      'Confirm that you have seen that a contact used the recovery key',
    ],
    'trust unfollow': ['trustUnfollow', 'Stop following a person'],
    'trust rename': ['trustRename', 'Give a person you follow a name of your own'],
    'trust note': ['trustNote', 'Keep a note on a person you follow'],
    'trust history': ['trustHistory', 'Show the history of a person you follow'],
    'trust metrics': ['trustMetrics', 'Show how many you follow, and what came of it'],
  }),
  ...from(() => import('./commands/connections/guest.ts'), {
    'guest list': ['guestList', 'List guest codes'],
    'guest create': ['guestCreate', 'Create a guest code and show its link, once'],
    'guest revoke': ['guestRevoke', 'Revoke a guest code'],
    'guest send': ['guestSend', 'Mail the link of a guest code'],
  }),
  ...from(() => import('./commands/organisations/members.ts'), {
    'external list': ['externalList', 'List people without an account, for guest codes'],
    'external create': ['externalCreate', 'Add a person without an account'],
    'external delete': ['externalDelete', 'Delete one of them, and revoke their guest codes'],
  }),
  ...from(() => import('./commands/notification.ts'), {
    'notification list': ['notificationList', 'List what happened'],
    'notification read': ['notificationRead', 'Mark notifications as read'],
    'notification delete': ['notificationDelete', 'Delete notifications'],
  }),
  ...from(() => import('./commands/connections/link.ts'), {
    'link list': ['linkList', 'List open links'],
    'link create': ['linkCreate', 'Create an open link: a page on which people ask to connect'],
    'link suggest': ['linkSuggest', 'Propose a slug for an open link'],
    'link pause': ['linkPause', 'Pause an open link'],
    'link resume': ['linkResume', 'Resume an open link'],
    'link slug': ['linkSlug', 'Give an open link a new address'],
    'link delete': ['linkDelete', 'Delete an open link with its requests'],
    'link requests': ['linkRequests', 'List who asked to connect by an open link'],
    'link approve': ['linkApprove', 'Approve a request: make a connection and invite who asked'],
    'link decline': ['linkDecline', 'Decline a request'],
  }),
  ...from(() => import('./commands/stamp.ts'), {
    stamp: ['stampCommand', 'Sign a file on this device'],
  }),
  ...from(() => import('./commands/stamp-verify.ts'), {
    'stamp verify': ['stampVerify', 'Check a stamp offline'],
  }),
  ...from(() => import('./commands/assistant.ts'), {
    ask: ['askCommand', 'Ask the assistant, or the handbook where there is none'],
    feedback: ['feedbackCommand', 'Send feedback to the operator of the account server'],
  }),
  ...from(() => import('./commands/export.ts'), {
    export: ['exportCommand', 'Export all that the account server has of you, to a file'],
    'export list': ['exportList', 'List exports'],
    'export download': ['exportDownload', 'Download a finished export'],
    'export delete': ['exportDelete', 'Delete all exports from the account server'],
  }),
  ...from(() => import('./commands/organisations/organisations.ts'), {
    'org create': ['orgCreate', 'Create an organisation'],
    'org use': ['orgUse', 'Choose the organisation that this device acts in'],
  }),
  ...from(() => import('./commands/organisations/members.ts'), {
    'org members': ['orgMembersCommand', 'List the members of the organisation'],
    'org invite': ['orgInvite', 'Invite addresses to the organisation'],
    'org activate': ['orgActivate', 'Activate a member who is suspended or invited'],
    'org suspend': ['orgSuspend', 'Suspend a member, or hold an invitation back'],
  }),
  ...from(() => import('./commands/organisations/groups.ts'), {
    'org group list': ['groupList', 'List the groups of the organisation'],
    'org group create': ['groupCreate', 'Create a group'],
    'org group update': ['groupUpdate', 'Rename a group or change its description'],
    'org group delete': ['groupDelete', 'Delete a group; its members stay in the organisation'],
    'org group add': ['groupAdd', 'Add members to a group'],
    'org group remove': ['groupRemove', 'Remove members from a group'],
  }),
  ...from(() => import('./commands/organisations/activity.ts'), {
    'org activity': ['orgActivityCommand', 'List what happened in the organisation'],
    'org summary': ['orgSummary', 'Show how often what happened there, and who did most'],
    'org dashboard': ['orgDashboard', 'Show the totals of the organisation'],
    'org trends': ['orgTrends', 'Show how often something happened there, by day or week'],
  }),
  ...from(() => import('./commands/organisations/alerts.ts'), {
    'org alert list': ['alertList', 'List the alerts of the organisation, and when they fired'],
    'org alert create': [
      'alertCreate',
      'Create an alert, which fires when so much happens in a while',
    ],
    'org alert update': ['alertUpdate', 'Change an alert, or switch it on or off'],
    'org alert delete': ['alertDelete', 'Delete an alert'],
  }),
  ...from(() => import('./commands/session/machine.ts'), {
    'machine create': ['machineCreate', 'Create a machine account and its key file'],
  }),
  ...from(() => import('./commands/session/machine-token.ts'), {
    'machine token': ['machineToken', 'Get an API token for a machine account by its key'],
  }),
  ...from(() => import('./commands/token.ts'), {
    'token list': ['tokenList', 'List API tokens'],
    'token create': ['tokenCreate', 'Create an API token and show it, once'],
    'token revoke': ['tokenRevoke', 'Revoke an API token, effective at once'],
  }),
}

/**
 * The command that this program runs in a subprocess. It is not enumerable, so no list shows it.
 */
Object.defineProperty(COMMANDS, 'purge-apart', {
  value: {
    summary: 'Empty the state folder of another user, as that user',
    load: async () => (await import('./commands/purge.ts')).purgeApartCommand,
  } satisfies Listed,
})

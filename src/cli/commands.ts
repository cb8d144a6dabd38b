/** The command table. The module of a command is loaded when the command is called. */
import type { Command } from './command.ts'

interface Listed {
  readonly summary: string
  readonly load: () => Promise<Command>
}

/**
 * The commands by name; a name may have two or three words.
 * The commands that are not listed are defined at the end.
 */
export const COMMANDS: Readonly<Record<string, Listed>> = {
  serve: {
    summary: 'Run the daemon',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  server: {
    summary: 'Run an account server, for many daemons',
    load: async () => (await import('./commands/server.ts')).serverCommand,
  },
  mcp: {
    summary: 'Speak the Model Context Protocol, for programs that start their tools themselves',
    load: async () => (await import('./commands/mcp.ts')).mcpCommand,
  },
  status: {
    summary: 'Show the state of the daemon',
    load: async () => (await import('./commands/status.ts')).statusCommand,
  },
  health: {
    summary: 'Ask whether the daemon answers, for monitors and unit files',
    load: async () => (await import('./commands/health.ts')).healthCommand,
  },
  'service install': {
    summary: 'Install the daemon as a service of this machine or user',
    load: async () => (await import('./commands/service.ts')).serviceInstall,
  },
  'service uninstall': {
    summary: 'Remove the service',
    load: async () => (await import('./commands/service.ts')).serviceUninstall,
  },
  'service status': {
    summary: 'Show whether the service runs and answers',
    load: async () => (await import('./commands/service.ts')).serviceStatus,
  },
  'service print': {
    summary: 'Print the definition of the service, for systemd, launchd or Windows',
    load: async () => (await import('./commands/service.ts')).servicePrint,
  },
  completion: {
    summary: 'Print a script by which a shell completes this command line',
    load: async () => (await import('./commands/completion.ts')).completionCommand(COMMANDS),
  },
  doctor: {
    summary: 'Check this installation, and show the remedy for each fault',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  'audit verify': {
    summary: 'Check that the audit log was not changed',
    load: async () => (await import('./commands/audit.ts')).auditVerify,
  },
  backup: {
    summary: 'Write a sealed backup of all that this device keeps',
    load: async () => (await import('./commands/backup.ts')).backupCommand,
  },
  restore: {
    summary: 'Put a backup into a new state folder',
    load: async () => (await import('./commands/restore.ts')).restoreCommand,
  },
  sync: {
    summary: 'Fetch what is new, hand over what was made here',
    load: async () => (await import('./commands/sync.ts')).syncCommand,
  },
  login: {
    summary: 'Sign this device in',
    load: async () => (await import('./commands/session/login.ts')).loginCommand,
  },
  logout: {
    summary: 'Revoke this device and forget what it holds',
    load: async () => (await import('./commands/session/logout.ts')).logoutCommand,
  },
  whoami: {
    summary: 'Show who is signed in',
    load: async () => (await import('./commands/session/whoami.ts')).whoamiCommand,
  },
  reset: {
    summary: 'Bring an account back after all its devices were lost',
    load: async () => (await import('./commands/session/reset.ts')).resetCommand,
  },
  'recovery create': {
    summary: 'Make a recovery key: 24 words on paper, for when all devices are lost',
    load: async () => (await import('./commands/session/recovery.ts')).recoveryCreate,
  },
  'recovery dismiss': {
    summary: 'Note that you set the recovery key of which this device has a notice',
    load: async () => (await import('./commands/session/recovery.ts')).recoveryDismiss,
  },
  'account delete': {
    summary: 'Delete the account and everything in it, for good',
    load: async () => (await import('./commands/session/account.ts')).accountDelete,
  },
  'device list': {
    summary: 'List the devices of the account',
    load: async () => (await import('./commands/session/device.ts')).deviceList,
  },
  'device approve': {
    summary: 'Approve a new device by the words of both screens',
    load: async () => (await import('./commands/session/device.ts')).deviceApprove,
  },
  'device renew': {
    summary: 'Give this device a new sealing key',
    load: async () => (await import('./commands/session/device.ts')).deviceRenew,
  },
  'device revoke': {
    summary: 'Revoke a device',
    load: async () => (await import('./commands/session/device.ts')).deviceRevoke,
  },
  'session list': {
    summary: 'List the sessions of the account',
    load: async () => (await import('./commands/session/session.ts')).sessionList,
  },
  'session end': {
    summary: 'End the session of another device',
    load: async () => (await import('./commands/session/session.ts')).sessionEnd,
  },
  'email list': {
    summary: 'List the e-mail addresses of the account',
    load: async () => (await import('./commands/session/email.ts')).emailList,
  },
  'email add': {
    summary: 'Add an e-mail address, confirmed by a link that is mailed there',
    load: async () => (await import('./commands/session/email.ts')).emailAdd,
  },
  profile: {
    summary: 'Show your profile',
    load: async () => (await import('./commands/profile.ts')).profileCommand,
  },
  'profile set': {
    summary: 'Change your profile',
    load: async () => (await import('./commands/profile.ts')).profileSet,
  },
  preferences: {
    summary: 'Show your preferences',
    load: async () => (await import('./commands/preferences.ts')).preferencesCommand,
  },
  'preferences set': {
    summary: 'Change your preferences',
    load: async () => (await import('./commands/preferences.ts')).preferencesSet,
  },
  verify: {
    summary: 'Check three words that a caller said',
    load: async () => (await import('./commands/connections/verify.ts')).verifyCommand,
  },
  code: {
    summary: 'Show the words to say on a connection or to a guest',
    load: async () => (await import('./commands/connections/code.ts')).codeCommand,
  },
  'connection list': {
    summary: 'List connections',
    load: async () => (await import('./commands/connections/connection.ts')).connectionList,
  },
  'connection create': {
    summary: 'Create a connection',
    load: async () => (await import('./commands/connections/connection.ts')).connectionCreate,
  },
  'connection show': {
    summary: 'Show one connection',
    load: async () => (await import('./commands/connections/connection.ts')).connectionShow,
  },
  'connection favorite': {
    summary: 'Mark a connection as a favourite',
    load: async () => (await import('./commands/connections/connection.ts')).connectionFavorite,
  },
  'connection rename': {
    summary: 'Rename a connection',
    load: async () => (await import('./commands/connections/connection.ts')).connectionRename,
  },
  'connection members': {
    summary: 'List who is in a connection',
    load: async () =>
      (await import('./commands/connections/connection-members.ts')).connectionMembers,
  },
  'connection remove-member': {
    summary: 'Remove a member; the others get a new secret',
    load: async () =>
      (await import('./commands/connections/connection-members.ts')).connectionRemoveMember,
  },
  'connection role': {
    summary: 'Make a member an owner, or an owner a member',
    load: async () => (await import('./commands/connections/connection-members.ts')).connectionRole,
  },
  'connection leave': {
    summary: 'Leave a connection to its other members',
    load: async () => (await import('./commands/connections/connection-end.ts')).connectionLeave,
  },
  'connection delete': {
    summary: 'Delete a connection that has no other members',
    load: async () => (await import('./commands/connections/connection-end.ts')).connectionDelete,
  },
  invite: {
    summary: 'Invite a person to a connection',
    load: async () => (await import('./commands/connections/invite.ts')).inviteCommand,
  },
  'invite list': {
    summary: 'List invitations, received and sent',
    load: async () => (await import('./commands/connections/invite.ts')).inviteList,
  },
  'invite contacts': {
    summary: 'List first contacts by four words',
    load: async () => (await import('./commands/connections/first-contact.ts')).inviteContacts,
  },
  'invite approve': {
    summary: 'Approve an invitation',
    load: async () => (await import('./commands/connections/invite.ts')).inviteApprove,
  },
  'invite decline': {
    summary: 'Decline an invitation',
    load: async () => (await import('./commands/connections/invite.ts')).inviteDecline,
  },
  'invite withdraw': {
    summary: 'Withdraw an invitation that was sent',
    load: async () => (await import('./commands/connections/invite.ts')).inviteWithdraw,
  },
  'tag list': {
    summary: 'List your tags',
    load: async () => (await import('./commands/tag.ts')).tagList,
  },
  'tag create': {
    summary: 'Create a tag',
    load: async () => (await import('./commands/tag.ts')).tagCreate,
  },
  'tag update': {
    summary: 'Rename a tag or change its colour',
    load: async () => (await import('./commands/tag.ts')).tagUpdate,
  },
  'tag delete': {
    summary: 'Delete a tag',
    load: async () => (await import('./commands/tag.ts')).tagDelete,
  },
  'tag assign': {
    summary: 'Give a connection a tag',
    load: async () => (await import('./commands/tag.ts')).tagAssign,
  },
  'tag unassign': {
    summary: 'Take a tag from a connection',
    load: async () => (await import('./commands/tag.ts')).tagUnassign,
  },
  'preset list': {
    summary: 'List presets: what new connections begin with',
    load: async () => (await import('./commands/preset.ts')).presetList,
  },
  'preset create': {
    summary: 'Create a preset',
    load: async () => (await import('./commands/preset.ts')).presetCreate,
  },
  'preset update': {
    summary: 'Change a preset',
    load: async () => (await import('./commands/preset.ts')).presetUpdate,
  },
  'preset delete': {
    summary: 'Delete a preset',
    load: async () => (await import('./commands/preset.ts')).presetDelete,
  },
  'preset default': {
    summary: 'Make a preset the default, or none',
    load: async () => (await import('./commands/preset.ts')).presetDefault,
  },
  rotate: {
    summary: 'Give a connection a new secret',
    load: async () => (await import('./commands/connections/rotate.ts')).rotateCommand,
  },
  'trust list': {
    summary: 'List the people you follow, and whether their keys changed',
    load: async () => (await import('./commands/connections/trust.ts')).trustList,
  },
  'trust follow': {
    summary: 'Follow a person, to learn when their keys change',
    load: async () => (await import('./commands/connections/trust.ts')).trustFollow,
  },
  'trust confirm': {
    summary: 'Confirm the keys of a person by the safety number',
    load: async () => (await import('./commands/connections/trust.ts')).trustConfirm,
  },
  'trust dismiss': {
    summary: 'Confirm that you have seen that a contact used the recovery key',
    load: async () => (await import('./commands/connections/trust.ts')).trustDismiss,
  },
  'trust unfollow': {
    summary: 'Stop following a person',
    load: async () => (await import('./commands/connections/trust.ts')).trustUnfollow,
  },
  'trust rename': {
    summary: 'Give a person you follow a name of your own',
    load: async () => (await import('./commands/connections/trust.ts')).trustRename,
  },
  'trust note': {
    summary: 'Keep a note on a person you follow',
    load: async () => (await import('./commands/connections/trust.ts')).trustNote,
  },
  'trust history': {
    summary: 'Show the history of a person you follow',
    load: async () => (await import('./commands/connections/trust.ts')).trustHistory,
  },
  'trust metrics': {
    summary: 'Show how many you follow, and what came of it',
    load: async () => (await import('./commands/connections/trust.ts')).trustMetrics,
  },
  'guest list': {
    summary: 'List guest codes',
    load: async () => (await import('./commands/connections/guest.ts')).guestList,
  },
  'guest create': {
    summary: 'Create a guest code and show its link, once',
    load: async () => (await import('./commands/connections/guest.ts')).guestCreate,
  },
  'guest revoke': {
    summary: 'Revoke a guest code',
    load: async () => (await import('./commands/connections/guest.ts')).guestRevoke,
  },
  'guest send': {
    summary: 'Mail the link of a guest code',
    load: async () => (await import('./commands/connections/guest.ts')).guestSend,
  },
  'external list': {
    summary: 'List people without an account, for guest codes',
    load: async () => (await import('./commands/organisations/external-members.ts')).externalList,
  },
  'external create': {
    summary: 'Add a person without an account',
    load: async () => (await import('./commands/organisations/external-members.ts')).externalCreate,
  },
  'external delete': {
    summary: 'Delete one of them, and revoke their guest codes',
    load: async () => (await import('./commands/organisations/external-members.ts')).externalDelete,
  },
  'notification list': {
    summary: 'List what happened',
    load: async () => (await import('./commands/notification.ts')).notificationList,
  },
  'notification read': {
    summary: 'Mark notifications as read',
    load: async () => (await import('./commands/notification.ts')).notificationRead,
  },
  'notification delete': {
    summary: 'Delete notifications',
    load: async () => (await import('./commands/notification.ts')).notificationDelete,
  },
  'link list': {
    summary: 'List open links',
    load: async () => (await import('./commands/connections/link.ts')).linkList,
  },
  'link create': {
    summary: 'Create an open link: a page on which people ask to connect',
    load: async () => (await import('./commands/connections/link.ts')).linkCreate,
  },
  'link suggest': {
    summary: 'Propose a slug for an open link',
    load: async () => (await import('./commands/connections/link.ts')).linkSuggest,
  },
  'link pause': {
    summary: 'Pause an open link',
    load: async () => (await import('./commands/connections/link.ts')).linkPause,
  },
  'link resume': {
    summary: 'Resume an open link',
    load: async () => (await import('./commands/connections/link.ts')).linkResume,
  },
  'link slug': {
    summary: 'Give an open link a new address',
    load: async () => (await import('./commands/connections/link.ts')).linkSlug,
  },
  'link delete': {
    summary: 'Delete an open link with its requests',
    load: async () => (await import('./commands/connections/link.ts')).linkDelete,
  },
  'link requests': {
    summary: 'List who asked to connect by an open link',
    load: async () => (await import('./commands/connections/link.ts')).linkRequests,
  },
  'link approve': {
    summary: 'Approve a request: make a connection and invite who asked',
    load: async () => (await import('./commands/connections/link.ts')).linkApprove,
  },
  'link decline': {
    summary: 'Decline a request',
    load: async () => (await import('./commands/connections/link.ts')).linkDecline,
  },
  stamp: {
    summary: 'Sign a file on this device',
    load: async () => (await import('./commands/stamp.ts')).stampCommand,
  },
  'stamp verify': {
    summary: 'Check a stamp offline',
    load: async () => (await import('./commands/stamp-verify.ts')).stampVerify,
  },
  ask: {
    summary: 'Ask the assistant, or the handbook where there is none',
    load: async () => (await import('./commands/chat.ts')).askCommand,
  },
  feedback: {
    summary: 'Send feedback to the operator of the account server',
    load: async () => (await import('./commands/feedback.ts')).feedbackCommand,
  },
  export: {
    summary: 'Export all that the account server has of you, to a file',
    load: async () => (await import('./commands/export.ts')).exportCommand,
  },
  'export list': {
    summary: 'List exports',
    load: async () => (await import('./commands/export.ts')).exportList,
  },
  'export download': {
    summary: 'Download a finished export',
    load: async () => (await import('./commands/export.ts')).exportDownload,
  },
  'export delete': {
    summary: 'Delete all exports from the account server',
    load: async () => (await import('./commands/export.ts')).exportDelete,
  },
  'org create': {
    summary: 'Create an organisation',
    load: async () => (await import('./commands/organisations/organisations.ts')).orgCreate,
  },
  'org use': {
    summary: 'Choose the organisation that this device acts in',
    load: async () => (await import('./commands/organisations/organisations.ts')).orgUse,
  },
  'org members': {
    summary: 'List the members of the organisation',
    load: async () => (await import('./commands/organisations/members.ts')).orgMembersCommand,
  },
  'org invite': {
    summary: 'Invite addresses to the organisation',
    load: async () => (await import('./commands/organisations/members.ts')).orgInvite,
  },
  'org activate': {
    summary: 'Activate a member who is suspended or invited',
    load: async () => (await import('./commands/organisations/members.ts')).orgActivate,
  },
  'org suspend': {
    summary: 'Suspend a member, or hold an invitation back',
    load: async () => (await import('./commands/organisations/members.ts')).orgSuspend,
  },
  'org group list': {
    summary: 'List the groups of the organisation',
    load: async () => (await import('./commands/organisations/groups.ts')).groupList,
  },
  'org group create': {
    summary: 'Create a group',
    load: async () => (await import('./commands/organisations/groups.ts')).groupCreate,
  },
  'org group update': {
    summary: 'Rename a group or change its description',
    load: async () => (await import('./commands/organisations/groups.ts')).groupUpdate,
  },
  'org group delete': {
    summary: 'Delete a group; its members stay in the organisation',
    load: async () => (await import('./commands/organisations/groups.ts')).groupDelete,
  },
  'org group add': {
    summary: 'Add members to a group',
    load: async () => (await import('./commands/organisations/groups.ts')).groupAdd,
  },
  'org group remove': {
    summary: 'Remove members from a group',
    load: async () => (await import('./commands/organisations/groups.ts')).groupRemove,
  },
  'org activity': {
    summary: 'List what happened in the organisation',
    load: async () => (await import('./commands/organisations/activity.ts')).orgActivityCommand,
  },
  'org summary': {
    summary: 'Show how often what happened there, and who did most',
    load: async () => (await import('./commands/organisations/activity.ts')).orgSummary,
  },
  'org dashboard': {
    summary: 'Show the totals of the organisation',
    load: async () => (await import('./commands/organisations/activity.ts')).orgDashboard,
  },
  'org trends': {
    summary: 'Show how often something happened there, by day or week',
    load: async () => (await import('./commands/organisations/activity.ts')).orgTrends,
  },
  'org alert list': {
    summary: 'List the alerts of the organisation, and when they fired',
    load: async () => (await import('./commands/organisations/alerts.ts')).alertList,
  },
  'org alert create': {
    summary: 'Create an alert, which fires when so much happens in a while',
    load: async () => (await import('./commands/organisations/alerts.ts')).alertCreate,
  },
  'org alert update': {
    summary: 'Change an alert, or switch it on or off',
    load: async () => (await import('./commands/organisations/alerts.ts')).alertUpdate,
  },
  'org alert delete': {
    summary: 'Delete an alert',
    load: async () => (await import('./commands/organisations/alerts.ts')).alertDelete,
  },
  'machine create': {
    summary: 'Create a machine account and its key file',
    load: async () => (await import('./commands/session/machine.ts')).machineCreate,
  },
  'machine token': {
    summary: 'Get an API token for a machine account by its key',
    load: async () => (await import('./commands/session/machine-token.ts')).machineToken,
  },
  'token list': {
    summary: 'List API tokens',
    load: async () => (await import('./commands/token.ts')).tokenList,
  },
  'token create': {
    summary: 'Create an API token and show it, once',
    load: async () => (await import('./commands/token.ts')).tokenCreate,
  },
  'token revoke': {
    summary: 'Revoke an API token, effective at once',
    load: async () => (await import('./commands/token.ts')).tokenRevoke,
  },
}

/**
 * The command of the subprocess that this program starts itself. It is not enumerable, so that no
 * list shows it.
 */
Object.defineProperty(COMMANDS, 'purge-apart', {
  value: {
    summary: 'Empty the state folder of another user, as that user',
    load: async () => (await import('./commands/purge-subprocess.ts')).purgeApartCommand,
  } satisfies Listed,
})

/** The command table. A command is loaded when it is called. */
import type { Command } from './command.ts'

interface Listed {
  readonly summary: string
  readonly load: () => Promise<Command>
}

/** By name; a name of two words is a command of its own. */
export const COMMANDS: Readonly<Record<string, Listed>> = {
  serve: {
    summary: 'Run the daemon',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  server: {
    summary: 'Run an account server, for many daemons',
    load: async () => (await import('./server.ts')).serverCommand,
  },
  status: {
    summary: 'Show the state of the daemon',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  sync: {
    summary: 'Fetch what is new, hand over what was made here',
    load: async () => (await import('./sync.ts')).syncCommand,
  },
  login: {
    summary: 'Sign this device in',
    load: async () => (await import('./login.ts')).loginCommand,
  },
  logout: {
    summary: 'Revoke this device and forget what it holds',
    load: async () => (await import('./logout.ts')).logoutCommand,
  },
  whoami: {
    summary: 'Show who is signed in',
    load: async () => (await import('./whoami.ts')).whoamiCommand,
  },
  reset: {
    summary: 'Bring an account back after all its devices were lost',
    load: async () => (await import('./reset.ts')).resetCommand,
  },
  'device list': {
    summary: 'List the devices of the account',
    load: async () => (await import('./device.ts')).deviceList,
  },
  'device approve': {
    summary: 'Approve a new device by the words of both screens',
    load: async () => (await import('./device.ts')).deviceApprove,
  },
  'device revoke': {
    summary: 'Revoke a device',
    load: async () => (await import('./device.ts')).deviceRevoke,
  },
  verify: {
    summary: 'Check three words that somebody said',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  code: {
    summary: 'Show the words to say on a connection or to a guest',
    load: async () => (await import('./code.ts')).codeCommand,
  },
  'connection list': {
    summary: 'List connections',
    load: async () => (await import('./connection.ts')).connectionList,
  },
  'connection create': {
    summary: 'Create a connection',
    load: async () => (await import('./connection.ts')).connectionCreate,
  },
  'connection show': {
    summary: 'Show one connection',
    load: async () => (await import('./connection.ts')).connectionShow,
  },
  'connection rename': {
    summary: 'Rename a connection',
    load: async () => (await import('./connection.ts')).connectionRename,
  },
  'connection members': {
    summary: 'List who is in a connection',
    load: async () => (await import('./connection-members.ts')).connectionMembers,
  },
  'connection remove-member': {
    summary: 'Remove a member: whoever stays gets a new secret',
    load: async () => (await import('./connection-members.ts')).connectionRemoveMember,
  },
  'connection role': {
    summary: 'Make a member an owner, or an owner a member',
    load: async () => (await import('./connection-members.ts')).connectionRole,
  },
  'connection leave': {
    summary: 'Leave a connection to its other members',
    load: async () => (await import('./connection-end.ts')).connectionLeave,
  },
  'connection delete': {
    summary: 'Delete a connection in which nobody else is',
    load: async () => (await import('./connection-end.ts')).connectionDelete,
  },
  invite: {
    summary: 'Invite somebody to a connection',
    load: async () => (await import('./invite.ts')).inviteCommand,
  },
  'invite list': {
    summary: 'List invitations, received and sent',
    load: async () => (await import('./invite.ts')).inviteList,
  },
  'invite approve': {
    summary: 'Approve an invitation',
    load: async () => (await import('./invite.ts')).inviteApprove,
  },
  'invite decline': {
    summary: 'Decline an invitation',
    load: async () => (await import('./invite.ts')).inviteDecline,
  },
  'invite withdraw': {
    summary: 'Withdraw an invitation that was sent',
    load: async () => (await import('./invite.ts')).inviteWithdraw,
  },
  rotate: {
    summary: 'Give a connection a new secret',
    load: async () => (await import('./rotate.ts')).rotateCommand,
  },
  'trust list': {
    summary: 'List whom you follow, and whether their keys changed',
    load: async () => (await import('./trust.ts')).trustList,
  },
  'trust follow': {
    summary: 'Follow somebody, to hear when their keys change',
    load: async () => (await import('./trust.ts')).trustFollow,
  },
  'trust confirm': {
    summary: 'Confirm the keys of somebody by the safety number',
    load: async () => (await import('./trust.ts')).trustConfirm,
  },
  'trust unfollow': {
    summary: 'Follow somebody no more',
    load: async () => (await import('./trust.ts')).trustUnfollow,
  },
  'trust note': {
    summary: 'Keep a note on somebody you follow',
    load: async () => (await import('./trust.ts')).trustNote,
  },
  'trust history': {
    summary: 'Show what happened to somebody you follow',
    load: async () => (await import('./trust.ts')).trustHistory,
  },
  'trust metrics': {
    summary: 'Show how many you follow, and what came of it',
    load: async () => (await import('./trust.ts')).trustMetrics,
  },
  'guest list': {
    summary: 'List guest codes',
    load: async () => (await import('./guest.ts')).guestList,
  },
  'guest create': {
    summary: 'Create a guest code and show its link, once',
    load: async () => (await import('./guest.ts')).guestCreate,
  },
  'guest revoke': {
    summary: 'Revoke a guest code',
    load: async () => (await import('./guest.ts')).guestRevoke,
  },
  stamp: {
    summary: 'Sign a file on this device',
    load: async () => (await import('./stamp.ts')).stampCommand,
  },
  'stamp verify': {
    summary: 'Check a stamp offline',
    load: async () => (await import('./stamp-verify.ts')).stampVerify,
  },
  'org create': {
    summary: 'Create an organisation',
    load: async () => (await import('./org.ts')).orgCreate,
  },
  'machine create': {
    summary: 'Create a machine account and its key file',
    load: async () => (await import('./machine.ts')).machineCreate,
  },
  'machine token': {
    summary: 'Get an API token for a machine account by its key',
    load: async () => (await import('./machine-token.ts')).machineToken,
  },
  'token list': {
    summary: 'List API tokens',
    load: async () => (await import('./token.ts')).tokenList,
  },
  'token create': {
    summary: 'Create an API token and show it, once',
    load: async () => (await import('./token.ts')).tokenCreate,
  },
  'token revoke': {
    summary: 'Revoke an API token, effective at once',
    load: async () => (await import('./token.ts')).tokenRevoke,
  },
}

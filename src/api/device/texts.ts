/** The texts about the rows under `/device/v1/`, for their OpenAPI document. */
import type { Entrance, SignedIn } from './index.ts'

/** The groups of rows under `/device/v1/`. */
type Groups = Omit<Entrance & SignedIn, 'oauth'>

/** The description of each group. */
export const DEVICE_GROUPS: { readonly [G in keyof Groups]: string } = {
  signIns: 'The first step of signing in for a person: proving an email address.',
  enrolment: 'Enrolment of a device, which gives it a session.',
  session: 'Renewal of a device’s session.',
  clock: 'The server’s time, which decides which windows and proofs are valid.',
  currentSession: 'The session that makes the request.',
  changes: 'What changed since an earlier sync.',
  hints: 'A stream that reports when something changes.',
  keyLogs: 'Key logs: the signed history of an account’s devices.',
  followedKeyLogs: 'The newest entries of the key logs of the accounts that this account follows.',
  listedDevices: 'The devices of this account, without their keys.',
  pendingDevices: 'Approval of another device: the calls of the approving device.',
  approval: 'Approval of another device: the calls of the new device.',
  rosters: 'Rosters: the signed history of a connection’s members.',
  envelopes: 'Envelopes: secrets of connections, each sealed to one device.',
  signedProfiles: 'Signed profiles: the name of an account, signed by one of its devices.',
  consents: 'Consents: an account signs one before it is added to a connection.',
  duties:
    'Work that other devices wait for. The list is a hint: a device checks it before it signs or seals anything.',
  publicCode: 'The secret of the public code, which the account shares with the account server.',
  lookups: 'The public codes and stamps that three words belong to.',
  deviceGuestCodes: 'Guest codes with secrets that a device creates.',
  deviceFirstContacts:
    'Messages of a first contact by four words, which the account server relays unchanged.',
  downloads: 'Links to finished exports.',
  openLinkApprovals: 'Requests to connect that were made through an open link.',
  stamps: 'Stamps, and the account server’s receipts for them.',
  servedStamps: 'The stamps of all accounts, for a check.',
  deletion: 'Whether the account can be deleted.',
  verifications: 'The verification log, to which each device adds its entries.',
  machines: 'Machine accounts of an organisation.',
  machineTokens: 'Tokens of a machine account.',
  bearer: 'The token of the request.',
  webhookNotices: 'Webhooks of a device that were given up.',
}

/** The summary of each row. */
export const DEVICE_SUMMARIES: {
  readonly [G in keyof Groups]: { readonly [R in keyof Groups[G]]: string }
} = {
  signIns: {
    create: 'Mail a sign-in code to an email address',
    read: 'Get the account of a code or an assertion; the code stays valid, but the assertion is used up',
  },
  enrolment: {
    create: 'Enrol the first device of an account, or a new one after a reset',
    further: 'Enrol another device of an account; until it is approved, it may only read',
  },
  session: {
    renew: 'Renew the session of a device',
  },
  clock: {
    read: "Read the server's time and public address",
  },
  currentSession: {
    delete: 'End the session that makes the request',
  },
  changes: {
    read: 'Read which parts of the account changed since an earlier sync, and the server’s time',
  },
  hints: {
    follow: 'Follow what changes: a stream with an event whenever a part of the account changed',
  },
  keyLogs: {
    read: 'Read the key log of an account, the sealing keys of its active devices, and its signed name',
    append: 'Add an entry to the key log of this account; 409 if another entry was added first',
  },
  followedKeyLogs: {
    list: 'List the newest entry of the key log of each account that this account follows',
  },
  signedProfiles: {
    give: 'Store the signed name of this account; 409 if a newer signed name is stored',
  },
  listedDevices: {
    list: 'List the devices of this account without their keys, also those that wait for approval',
  },
  pendingDevices: {
    read: 'Read a device of this account that waits for approval, and its approval attempt',
    answer:
      'Answer the commitment of a device that waits for approval; a commitment is answered only once',
  },
  approval: {
    begin: 'Begin an approval attempt of this device; it ends an earlier attempt',
    read: 'Read the approval attempt of this device',
    reveal: 'Reveal the values behind the commitment of this device, after it was answered',
    create:
      'Confirm that the words were compared on this new device, and that it found itself in the key log',
  },
  rosters: {
    open: 'Open a connection with its first roster entry and an envelope for every device of this account',
    read: 'Read the roster of a connection, and the lengths of the key logs that it depends on',
    append:
      'Add an entry to a roster, with the secret sealed to the devices that may have it; 409 if another entry was added first',
  },
  envelopes: {
    read: 'Read the envelopes of a connection for this device',
    add: 'Add envelopes with the secret of the current epoch, for devices that have none yet',
    delete: 'Delete an envelope of an epoch for this device, if the device cannot open it',
  },
  consents: {
    wanted:
      'Read the connection, inviter and roster head that a consent to an invitation must name',
    give: 'Approve an invitation with a consent; a device of the inviter can then add the account',
  },
  duties: {
    read: 'List members to add, devices without the secret of a connection, and invitations to replacement connections',
  },
  publicCode: {
    create:
      'Share the secret of the public code with the account server; it replaces the previous secret',
    read: 'Read the secret of this account’s public code, which another device may have created',
  },
  lookups: {
    create: 'Find the public codes and stamps that currently have these three words',
  },
  deviceGuestCodes: {
    create: 'Register a guest code with a secret that a device created',
    send: 'Mail the link of a guest code; only then does its secret pass through the server',
  },
  deviceFirstContacts: {
    open: 'Open a first contact for a sent invitation; it ends an earlier first contact',
    list: 'List the open first contacts of this device, as inviter or invitee',
    read: 'Read the open first contact of a received invitation',
    send: 'Send the next message of a first contact; sending the same message again changes nothing',
    end: 'End a first contact that this device opened, and delete its messages',
  },
  downloads: {
    create: 'Get a link to a finished export for an API token of the daemon',
    end: 'End the export links that were made for an API token of the daemon',
  },
  openLinkApprovals: {
    read: 'Read a request to connect, which a device approves by opening a connection',
  },
  stamps: {
    create: 'Register a stamp and get its receipt',
  },
  servedStamps: {
    read: 'Read any stamp, with the key log and the signed name of its account',
  },
  deletion: {
    read: 'Check whether the account can be deleted now; 409 names the obstacle',
  },
  verifications: {
    push: 'Add entries to the verification log; an entry that is already stored does not change',
  },
  machines: {
    create: 'Create a machine account of an organisation; only owners and admins may',
  },
  machineTokens: {
    list: "List the machine account's tokens",
    create: 'Create a token of the machine account',
    delete: 'Revoke a token of the machine account, effective immediately',
  },
  bearer: {
    read: 'Get the owner and the rights of the token of the request',
  },
  webhookNotices: {
    create: 'Notify this account that a webhook of this device was given up',
  },
}

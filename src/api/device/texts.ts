/** The texts about the rows under `/device/v1/`, for their OpenAPI document. */
import type { Entrance, SignedIn } from './index.ts'

/** The groups of rows under `/device/v1/`. */
type Groups = Omit<Entrance & SignedIn, 'oauth'>

/** The description of each group. */
export const DEVICE_GROUPS: { readonly [G in keyof Groups]: string } = {
  signIns: 'How a person begins to sign in.',
  enrolment: 'How a device gets its session.',
  session: 'How a device keeps its session.',
  clock: 'The time by which windows and proofs are judged.',
  currentSession: 'The session that asks.',
  keyLogs: 'The signed log of the devices of an account.',
  pendingDevices: 'The approval of a further device, at the device that approves.',
  approval: 'The approval of a further device, at the new device.',
  rosters: 'The signed log of the members of a connection.',
  envelopes: 'Secrets of connections, sealed to one device each.',
  signedProfiles: 'The name of an account, signed by one of its devices.',
  consents: 'What an account signs before it is added to a connection.',
  duties: 'What other devices wait for. A hint: it is checked before anything is signed or sealed.',
  publicCode: 'The secret of the public code, which the account server shares.',
  lookups: 'The public codes and stamps that three words belong to.',
  deviceGuestCodes: 'Guest codes with secrets that a device makes.',
  deviceFirstContacts: 'Messages of a first contact by four words, relayed as they are.',
  downloads: 'Links to finished exports.',
  openLinkApprovals: 'Who asked to connect, by an open link.',
  stamps: 'Stamps, and the receipts of the account server.',
  deletion: 'Whether the account can be deleted.',
  verifications: 'The verification log, handed over by each device.',
  machines: 'Machine accounts of an organisation.',
  machineTokens: 'Tokens of a machine account.',
  bearer: 'The token that asks.',
}

/** The summary of each row. */
export const DEVICE_SUMMARIES: {
  readonly [G in keyof Groups]: { readonly [R in keyof Groups[G]]: string }
} = {
  signIns: {
    create: 'Have a code sent to a mailbox',
    read: 'Get the account of a code or an assertion; the code stays valid, the assertion is used up',
  },
  enrolment: {
    create: 'Enrol the first device of an account, or a new one after a reset',
    further: 'Enrol a further device of an account; it may only read until it is approved',
  },
  session: {
    renew: 'Renew the session of a device',
  },
  clock: {
    read: "Read the server's time and public address",
  },
  currentSession: {
    delete: 'End the session that asks',
  },
  keyLogs: {
    read: 'Read the key log of an account, the sealing keys of its active devices, and its signed name',
    append: 'Add an entry to the own key log; 409 when another came first',
  },
  signedProfiles: {
    give: 'Hand over the signed name of the own account; 409 when there is a newer one',
  },
  pendingDevices: {
    read: 'Read a device of this account that waits for approval, and its attempt',
    answer: 'Answer the commitment of a device that waits for approval; each is answered once',
  },
  approval: {
    begin: 'Begin an attempt to be approved; an earlier one of this device ends',
    read: 'Read the attempt of this device to be approved',
    reveal: 'Reveal what the commitment of this device was made of, once it was answered',
    create: 'Confirm that this new device compared the words and found itself in the key log',
  },
  rosters: {
    open: 'Open a connection: its first roster entry and an envelope for every own device',
    read: 'Read the roster of a connection, and how long the key logs are that it rests on',
    append:
      'Add an entry to a roster, with the secret sealed to those who shall have it; 409 when another came first',
  },
  envelopes: {
    read: 'Read the envelopes of a connection for this device',
    add: 'Hand over the secret of the current epoch, sealed to devices that have no envelope of it',
    delete: 'Delete the envelope of an epoch for this device, which it cannot open',
  },
  consents: {
    wanted: 'Read the connection, inviter and roster head for a consent to an invitation',
    give: 'Approve an invitation: a device of the inviter can take the account in by the consent',
  },
  duties: {
    read: 'List members that wait to be added, devices that lack the secret of a connection, and connections that replace one',
  },
  publicCode: {
    create:
      'Share the secret of the public code with the account server, in place of the one before',
    read: 'Read the secret of the own public code, which another device may have made',
  },
  lookups: {
    create: 'Find the public codes and stamps that three words belong to now',
  },
  deviceGuestCodes: {
    create: 'Register a guest code with a secret that a device made',
    send: 'Mail the link of a guest code: the one case in which its secret passes through the server',
  },
  deviceFirstContacts: {
    open: 'Open a first contact for an invitation that was sent; it ends an earlier one',
    list: 'List the open first contacts that this device opened or began',
    read: 'Read the open first contact of an invitation that was received',
    send: 'Send the next message of a first contact; the same once more changes nothing',
    end: 'End a first contact that this device opened, and delete its messages',
  },
  downloads: {
    create: 'Get the link to a finished export for an API token of the daemon',
    end: 'End the links that were made for an API token of the daemon',
  },
  openLinkApprovals: {
    read: 'Read an approval request, which a device is to approve by opening the connection',
  },
  stamps: {
    create: 'Register a stamp and get its receipt',
  },
  deletion: {
    read: 'Check whether the account may be deleted now; 409 names the obstacle',
  },
  verifications: {
    push: 'Add entries to the verification log; an entry known already is kept as it is',
  },
  machines: {
    create: 'Create a machine account of an organisation; an owner or admin may',
  },
  machineTokens: {
    list: "List the machine account's tokens",
    create: 'Mint a token of the machine account',
    delete: 'Revoke a token of the machine account, effective at once',
  },
  bearer: {
    read: 'Get the owner and the rights of the token of the request',
  },
}

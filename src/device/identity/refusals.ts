/** Why a step of signing in or out is not taken, and what to do. */
import { AppError } from '../../errors.ts'
import type { Facts } from './identity.ts'

export const nobody = () =>
  new AppError('not_signed_in', 'Nobody is signed in here: run "countersignd login".')

const GONE =
  'The account of this daemon was deleted. Start the daemon again: it begins with a new, empty account, which needs no sign-in.'

/** The embedded account was deleted: a start makes the next one. */
export const embeddedGone = () => new AppError('not_signed_in', GONE)

/** There is nothing to sign in to. `isGone`: the account was deleted. */
export const embedded = (isGone: boolean) =>
  new AppError(
    'invalid_state',
    `${isGone ? GONE : 'This daemon uses its own embedded account, which needs no sign-in.'} To sign in to an account server, set SVC_BACKEND_URL to its address, best with another SVC_STATE_DIR.`,
    { details: { state: 'embedded' } },
  )

/** Somebody is here already. */
export const occupied = ({ account, approved }: Facts) =>
  new AppError(
    'invalid_state',
    approved
      ? `This device is signed in to ${account}. Run "countersignd logout" first.`
      : `This device awaits its approval for ${account}: go on with "countersignd login", or give up with "countersignd logout".`,
    { details: { state: approved ? 'signed_in' : 'awaiting_approval' } },
  )

/** The state folder is another server's. */
export const elsewhere = ({ account, server }: Facts) =>
  new AppError(
    'invalid_state',
    server === null
      ? 'This state folder holds the account of the embedded account server. Set SVC_STATE_DIR to another folder, or unset SVC_BACKEND_URL.'
      : `This state folder holds the account ${account} of the account server ${server}. Set SVC_STATE_DIR to another folder, or SVC_BACKEND_URL to that server.`,
    { details: { state: server === null ? 'embedded' : 'other_server' } },
  )

/** The error of a device that the key log of its account, as it is known here, revokes. */
export const revokedHere = () =>
  new AppError(
    'not_signed_in',
    'This device was revoked. To use the account here again, run "countersignd logout" and sign in anew.',
  )

/** The account server says so to who may open the account. */
export const wasRevoked = (cause: AppError) =>
  new AppError(
    'not_signed_in',
    'This device was revoked, and its keys stay so. Run "countersignd logout --forget", and sign in anew: it then comes as a new device.',
    { cause },
  )

/** It asks again only when somebody says so: what was turned away must not come back by itself. */
export const turnedAway = () =>
  new AppError(
    'not_signed_in',
    'The account server knows this device no more: it was turned away before it was approved. "countersignd login" lets it ask again, "countersignd logout --forget" gives up.',
  )

export const leftMeanwhile = () =>
  new AppError('not_signed_in', 'This device signed out meanwhile.')

/** For the log: what it means when a machine account's device awaits approval. */
export const secondDevice =
  'this machine account has a device already, so this one may only read until that one approves it: ' +
  'give each daemon a machine account of its own, or, if the other device is lost, run "countersignd reset --machine --key-file FILE --yes"'

/** The errors of sign-in and sign-out. Each error names the remedy. */
import { AppError } from '../../errors.ts'
import type { Facts } from './identity.ts'

export const notSignedIn = () =>
  new AppError('not_signed_in', 'No account is signed in here. Run "countersignd login".')

const GONE =
  'The account of this daemon was deleted. Restart the daemon to get a new, empty account, which needs no sign-in.'

/** Returns the error for a deleted embedded account. The next start creates a new account. */
export const embeddedGone = () => new AppError('not_signed_in', GONE)

/** Returns the error for a folder without an account and without an account server. */
export const noAccountYet = () =>
  new AppError(
    'not_signed_in',
    'There is no account on this machine yet. "countersignd serve" creates one, which needs no sign-in.',
  )

/**
 * Returns the error for a sign-in to the embedded account, which needs no sign-in.
 * @param why why there is no embedded account; null if there is one
 */
export const embedded = (why: string | null) =>
  new AppError(
    'invalid_state',
    why === null
      ? 'This daemon uses its own embedded account, which needs no sign-in. To sign in to an account server instead, stop the daemon, set SVC_BACKEND_URL to the address of the server, and run "countersignd login" again. It sets the embedded account aside and deletes nothing.'
      : `${why} To sign in to an account server instead, stop the daemon if one runs, set SVC_BACKEND_URL to the address of the server, and run this command again.`,
    { details: { state: 'embedded' } },
  )

/** Returns the error if this device is already signed in or waits for approval. */
export const occupied = ({ account, approved }: Facts) =>
  new AppError(
    'invalid_state',
    approved
      ? `This device is signed in to ${account}. Run "countersignd logout" first.`
      : `This device waits for its approval for ${account}. Continue with "countersignd login", or cancel with "countersignd logout".`,
    { details: { state: approved ? 'signed_in' : 'awaiting_approval' } },
  )

/** Returns the error if the state folder belongs to another account server. */
export const elsewhere = ({ account, server }: Facts) =>
  new AppError(
    'invalid_state',
    server === null
      ? 'This state folder holds the account of the embedded account server. Set SVC_STATE_DIR to another folder, or unset SVC_BACKEND_URL.'
      : `This state folder holds the account ${account} of the account server ${server}. Set SVC_STATE_DIR to another folder, or SVC_BACKEND_URL to that server.`,
    { details: { state: server === null ? 'embedded' : 'other_server' } },
  )

/** Returns the error for a device that the stored key log has revoked. */
export const revokedHere = () =>
  new AppError(
    'not_signed_in',
    'This device was revoked. To use the account here again, run "countersignd logout" and sign in again.',
  )

/**
 * Returns the error if the account server reports that this device was revoked. The server reports
 * that only to a caller that has access to the account.
 */
export const wasRevoked = (cause: AppError) =>
  new AppError(
    'not_signed_in',
    'This device was revoked, and its keys stay revoked. Run "countersignd logout --forget" and sign in again, as a new device.',
    { cause },
  )

/**
 * Returns the error for a device that was rejected before its approval. Only the user can make it
 * ask again, so that a rejected device does not return by itself.
 */
export const turnedAway = () =>
  new AppError(
    'not_signed_in',
    'The account server no longer knows this device, because it was rejected before it was approved. To ask for approval again, run "countersignd login". To cancel the sign-in, run "countersignd logout --forget".',
  )

export const leftMeanwhile = () =>
  new AppError('not_signed_in', 'This device signed out meanwhile.')

/** The log message for a machine account with a device that waits for approval. */
export const secondDevice =
  'this machine account already has another device, so this device may only read until the other device approves it. ' +
  'Give each daemon a machine account of its own. If the other device is lost, run "countersignd reset --machine --key-file FILE --yes".'

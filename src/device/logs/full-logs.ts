/**
 * The errors for a log that has no room for an entry. The last 1,000 positions of a key log or
 * roster are reserved for entries that end access (protocol, sections 3 and 6).
 */
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'

const FULL = 'log_full'

const fullError = (message: string, cause: Refusal) =>
  new AppError('invalid_state', message, { cause, details: { state: FULL } })

/** Returns the error for a full key log of the own account. */
export const keyLogFull = (cause: Refusal): AppError =>
  fullError(
    'The key log of this account is full. Its last 1,000 entries are reserved for revocations and resets. The devices of the account continue to work. To add devices or change keys again, sign in with another mailbox ("countersignd login --email"), which creates a new account, and ask the owners of your connections to invite the new account.',
    cause,
  )

/** Returns the error if the own key log allows no more resets without the recovery key. */
export const resetsUsedUp = (cause: Refusal): AppError =>
  fullError(
    'This account was reset 240 times or more. Its key log accepts 16 more resets, only with the recovery key. Run "countersignd reset" with the words of the paper. Without them, sign in with another mailbox ("countersignd login --email"), which creates a new account.',
    cause,
  )

/** Returns the error for a full roster. */
export const rosterFull =
  (connection: string) =>
  (cause: Refusal): AppError =>
    fullError(
      `This connection (${connection}) is full. The last 1,000 entries of its roster are reserved for removing members, leaving, confirming keys and ending the connection. Create a new connection with the same members ("countersignd connection create"), then leave this connection ("countersignd connection leave ${connection}").`,
      cause,
    )

/** Checks whether an error was caused by a full log. */
export const isFullLog = ({ details }: AppError): boolean => details.state === FULL

/**
 * Signs an entry.
 * @param sign returns the entry; throws a Refusal if the entry breaks a rule
 * @throws AppError invalid_state, created by `full`, if the log has no room for the entry;
 *   otherwise what `sign` throws
 */
export function unlessFull<T>(sign: () => T, full: (cause: Refusal) => AppError): T {
  try {
    return sign()
  } catch (error) {
    throw error instanceof Refusal && error.reason === FULL ? full(error) : error
  }
}

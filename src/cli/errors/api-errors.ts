/** Errors of the API in the terms of the command line: commands and options instead of routes. */
import { AppError } from '../../errors.ts'

/** A route, and the command that calls it, as messages name them together. */
const ROUTE = /\b[A-Z]+ \/\S+ \(("countersignd [^"]+")\)/g

/** Returns a message in which each route with a command is replaced by the command. */
const withoutRoutes = (message: string): string => message.replaceAll(ROUTE, '$1')

const WITH_TOKEN = 'in SVC_TOKEN or SVC_TOKEN_FILE'

/** Returns the message about a token that the user configured; null if the error has another. */
function aboutToken({ code, details }: AppError, path: string, isTrusted: boolean) {
  if (code === 'insufficient_scope')
    return `The token ${WITH_TOKEN} allows too little: this command needs the scope ${details.required_scope}. Use a token with that scope, or unset the variable.`
  if (isTrusted && code === 'forbidden' && path.startsWith('/local/'))
    return 'An API token cannot be used for this command. Unset SVC_TOKEN and SVC_TOKEN_FILE.'
  return null
}

/**
 * Returns an error of the API as the command line shows it.
 * @param path the path of the request
 * @param chosen the token that the user configured; null if the command line uses its own
 * @param isTrusted whether the command line could do more without the token
 */
export function shownError(
  error: AppError,
  path: string,
  chosen: string | null,
  isTrusted: boolean,
): AppError {
  const { code, details, headers } = error
  const isMachineToken = code === 'invalid_token' && chosen?.startsWith('csm_') === true
  const about = isMachineToken
    ? `The machine account’s token ${WITH_TOKEN} is wrong, expired or revoked. Get another one with "countersignd machine token --key-file FILE".`
    : chosen === null
      ? null
      : aboutToken(error, path, isTrusted)
  const message = about ?? withoutRoutes(error.message)
  if (message === error.message && details.issues === undefined) return error
  const issues = details.issues?.map((one) => ({ ...one, message: withoutRoutes(one.message) }))
  const shown = issues === undefined ? details : { ...details, issues }
  return new AppError(code, message, { details: shown, headers, cause: error })
}

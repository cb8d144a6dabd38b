/**
 * Resources that the user names by id.
 *
 * The error for a missing resource names a command that lists ids, because users of the command
 * line do not see paths.
 */
import { isId } from '../crypto/encoding/id.ts'
import { AppError } from '../errors.ts'

const KINDS = {
  device: { prefix: 'dev_', list: 'device list' },
  session: { prefix: 'ses_', list: 'session list' },
  connection: { prefix: 'con_', list: 'connection list' },
  invitation: { prefix: 'inv_', list: 'invite list' },
  'guest code': { prefix: 'gst_', list: 'guest list' },
  'external member': { prefix: 'ext_', list: 'external list' },
  export: { prefix: 'exp_', list: 'export list' },
  notification: { prefix: 'ntf_', list: 'notification list' },
  'open link': { prefix: 'lnk_', list: 'link list' },
  request: { prefix: 'req_', list: 'link requests' },
  token: { prefix: 'tok_', list: 'token list' },
  tag: { prefix: 'tag_', list: 'tag list' },
  preset: { prefix: 'pre_', list: 'preset list' },
  group: { prefix: 'grp_', list: 'org group list' },
  alert: { prefix: 'alr_', list: 'org alert list' },
  webhook: { prefix: 'whk_', list: 'webhook list' },
} as const

export type NamedKind = keyof typeof KINDS

/** Returns the error for an id that no resource of this kind has. */
export const noSuch = (kind: NamedKind) =>
  new AppError(
    'not_found',
    `There is no ${kind} with this id. "countersignd ${KINDS[kind].list}" lists the ids.`,
  )

/**
 * Checks an id from the user before a request is sent.
 * @throws AppError `not_found` if the text cannot be an id of this kind
 */
export function readId(kind: NamedKind, text: string): string {
  if (!isId(KINDS[kind].prefix, text)) throw noSuch(kind)
  return text
}

/**
 * Runs a function on the resource with an id.
 *
 * If the text cannot be an id, no request is sent.
 * @throws AppError `not_found`
 */
export async function byId<T>(kind: NamedKind, id: string, work: () => Promise<T>): Promise<T> {
  readId(kind, id)
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError && error.code === 'not_found' ? noSuch(kind) : error
  }
}

/**
 * Runs a function on an account that the user named by id.
 *
 * In the function, `not_found` must mean that the account does not exist.
 * @throws AppError `not_found`
 */
export async function ofAccount<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'not_found')) throw error
    throw new AppError(
      'not_found',
      'There is no account with this id. Ask the person for their id ("countersignd whoami" shows it), or invite them by e-mail address.',
      { cause: error },
    )
  }
}

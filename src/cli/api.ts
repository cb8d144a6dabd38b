/**
 * Gives commands access to the account's API.
 *
 * Only the owner of the state lock may write to the state. If a daemon owns the lock, the command
 * line sends requests to the daemon over HTTP. If the lock is free, this process acquires it, opens
 * the state, and answers the requests itself.
 */
import { type Outgoing, clientOf } from '../api/client.ts'
import { consoleTable } from '../api/console/index.ts'
import { local } from '../api/local/index.ts'
import { rest } from '../api/rest/index.ts'
import type { Route } from '../api/route.ts'
import type { Config } from '../config/config.ts'
import { AppError, StartError } from '../errors.ts'
import { readPrivate } from '../keychain/private-file.ts'
import type { Lock } from '../storage/lock.ts'
import { shownError } from './errors/api-errors.ts'
import type { Api, Io } from './command.ts'
import type { DaemonConnection } from './daemon-connection.ts'
import { daemonAt, requireSameVersion, holderAt } from './lock-owner.ts'
import { logLinesOf } from './log-lines.ts'

const PATIENCE_MS = 3_000

/**
 * Returns a function that awaits an answer.
 *
 * The first time that an answer takes more than three seconds, the function writes a message.
 */
export function newWaiting({ stderr }: Pick<Io, 'stderr'>) {
  let isPrinted = false
  const say = () => {
    if (!isPrinted) stderr.write('Waiting for the account server …\n')
    isPrinted = true
  }
  return async <T>(answer: Promise<T>): Promise<T> => {
    const timer = setTimeout(say, PATIENCE_MS)
    try {
      return await answer
    } finally {
      clearTimeout(timer)
    }
  }
}

/** `hasDaemon` is whether a running daemon answers. */
type ApiWork<T> = (api: Api, hasDaemon: boolean) => Promise<T>

const TABLE = { ...rest, ...local, ...consoleTable }

/** The routes that answer without an account. A command that calls only these creates none. */
const WITHOUT_ACCOUNT: readonly Route[] = [rest.status, rest.verify, local.signIn].flatMap(
  (group) => Object.values(group),
)

/** Called with each answer of the API. */
type Seen = (answer: unknown) => void

/** Returns the calls of the REST, local and console tables. `send` sends their requests. */
function apiOver(
  io: Io,
  send: (request: Outgoing) => Promise<unknown>,
  { chosen, seen, trusted = true }: { chosen: string | null; seen: Seen; trusted?: boolean },
): Api {
  const waiting = newWaiting(io)
  return clientOf(TABLE, async (request) => {
    try {
      // A request that waits for events has nothing to report while it waits.
      const isQuiet = request.route.lasting === true
      const answer = await (isQuiet ? send(request) : waiting(send(request)))
      seen(answer)
      return answer
    } catch (error) {
      throw error instanceof AppError
        ? shownError(error, request.route.path, chosen, trusted)
        : error
    }
  })
}

/** Returns the token that the user configured; null if the command line must use its own token. */
export function chosenToken({
  token,
  tokenFile,
}: Pick<Config, 'token' | 'tokenFile'>): string | null {
  if (token !== null) return token
  if (tokenFile === null) return null
  const text = readPrivate(tokenFile)
  if (text === null)
    throw new StartError(
      'configuration',
      `SVC_TOKEN_FILE names ${tokenFile}, but there is no such file. Create it, or correct SVC_TOKEN_FILE.`,
    )
  return text.trim()
}

async function here<T>(
  config: Config,
  io: Io,
  lock: Lock,
  { chosen, seen }: { chosen: string | null; seen: Seen },
  work: ApiWork<T>,
): Promise<T> {
  const [{ openDaemon }, { newLog }, { splitTarget }, { newRequestId }] = await Promise.all([
    import('../daemon/daemon.ts'),
    import('../log.ts'),
    import('../http/path.ts'),
    import('../http/reply.ts'),
  ])
  // Successes are not logged here, because the command itself reports them to the user.
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel
  const log = newLog(level, logLinesOf(io).write)
  const daemon = await openDaemon(config, log, lock)
  const token = chosen ?? daemon.token()
  let enrolled: Promise<void> | null = null
  const answer = async ({ route, path, query, body }: Outgoing) => {
    // At the first such request only: a command that deletes the account must not create another.
    if (!WITHOUT_ACCOUNT.includes(route)) await (enrolled ??= daemon.enrol())
    const { segments } = splitTarget(path)
    const { method } = route
    const { value } = await daemon.dispatch({
      id: newRequestId(),
      peer: () => process.getuid?.() ?? null,
      method,
      segments,
      query,
      accept: '',
      token,
      body: async () => body,
    })
    return value
  }
  const api = apiOver(io, answer, { chosen, seen })
  try {
    return await work(api, false)
  } finally {
    await daemon.close()
  }
}

async function overHttp<T>(
  io: Io,
  daemon: DaemonConnection,
  { chosen, seen }: { chosen: string | null; seen: Seen },
  work: ApiWork<T>,
): Promise<T> {
  requireSameVersion(daemon)
  try {
    const { trusted } = daemon
    const api = apiOver(io, (request) => daemon.send(request), { chosen, seen, trusted })
    return await work(api, true)
  } finally {
    daemon.close()
  }
}

/**
 * Runs a function with the account's API, in this process or through the daemon.
 * @throws StartError and the errors of the API
 */
export async function withApi<T>(
  config: Config,
  io: Io,
  work: ApiWork<T>,
  seen: Seen = () => undefined,
): Promise<T> {
  const chosen = chosenToken(config)
  const holder = await holderAt(config, chosen)
  if ('unproven' in holder) throw holder.unproven
  return 'lock' in holder
    ? here(config, io, holder.lock, { chosen, seen }, work)
    : overHttp(io, holder.daemon, { chosen, seen }, work)
}

/**
 * Runs a function with the account's API through the running daemon. Opens no state.
 * @throws StartError `daemonSilent` if no daemon runs, and the errors of the API
 */
export async function withDaemon<T>(config: Config, io: Io, work: ApiWork<T>): Promise<T> {
  const chosen = chosenToken(config)
  return overHttp(io, await daemonAt(config, chosen), { chosen, seen: () => undefined }, work)
}

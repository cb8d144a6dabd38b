/**
 * Sends requests to the running daemon, for a program that was started with a scope.
 *
 * Each call first checks the scope, then finds the daemon and verifies its proof. If the daemon was
 * restarted, the next call therefore finds the new one.
 */
import { TYPES_WITHOUT_ORGANISATIONS, isOfOrganisation } from '../api/live/event-types.ts'
import { rest } from '../api/rest/index.ts'
import type { Content } from '../api/route.ts'
import { isGranted, orgEventsRefused, requireScope, restNeed, type Scope } from '../auth/scopes.ts'
import { AppError, EXIT, StartError } from '../errors.ts'
import type { Ask, ToolCall } from '../api/tools/call.ts'
import type { DaemonConnection } from './daemon-connection.ts'
import { requireSameVersion, daemonAt } from './lock-owner.ts'
import { type InstanceFolders, isForSystem } from './system-instance.ts'

/** @param own whether the daemon belongs to the caller, who can therefore start it */
const away = (cause: StartError, own: boolean) =>
  new AppError(
    'backend_unavailable',
    cause.exit === EXIT.daemonSilent && own
      ? 'The daemon of this account does not answer. Start it with "countersignd serve", then repeat the call.'
      : cause.message,
    { cause },
  )

const brokenOff = (cause: unknown) =>
  new AppError(
    'backend_unavailable',
    'The connection to the daemon broke during this call. The call may have taken effect nevertheless, so check its result before you repeat it. If the daemon is not running, start it with "countersignd serve".',
    { cause },
  )

/** Returns whether an error ended the connection: a timeout, or a Node error (which has a code). */
const isOfConnection = (error: unknown): boolean =>
  !(error instanceof AppError) && typeof (error as { code?: unknown }).code === 'string'

const toShown = (error: unknown): unknown =>
  error instanceof StartError || isOfConnection(error) ? brokenOff(error) : error

const outOfScope = (scope: Scope, what: string, need: string, details: AppError['details']) =>
  new AppError(
    'insufficient_scope',
    `This server was started with scope ${scope}, and ${what} requires ${String(details.required_scope)}. Start it with "countersignd mcp --scope ${need}".`,
    { details },
  )

/**
 * Checks that the scope permits a call. The error is for the user who started this program.
 * @throws AppError `insufficient_scope`
 */
function demand(scope: Scope, { method, segments }: ToolCall): void {
  const need = restNeed(method, segments)
  if (need === 'none') return
  try {
    requireScope(scope, need, method, segments)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'insufficient_scope') throw error
    throw outOfScope(scope, `${method} /${segments.join('/')}`, need, error.details)
  }
}

/**
 * Returns the query of a call. Without the scope full, it leaves out the events of organisations:
 * the daemon only checks the token, which may have a wider scope.
 * @throws AppError `insufficient_scope` if the call is for events of organisations
 */
function queryWithin(scope: Scope, { route, query }: ToolCall): string {
  if (route !== rest.events.follow || isGranted(scope, 'full')) return query
  const values = new URLSearchParams(query)
  const types = values.get('types') ?? TYPES_WITHOUT_ORGANISATIONS
  if (types.split(',').some(isOfOrganisation))
    throw outOfScope(scope, 'types=org.*', 'full', orgEventsRefused(scope).details)
  values.set('types', types)
  return values.toString()
}

/**
 * Returns a streamed body that closes its connection at the end. If its reader leaves, also a part
 * that the reader waits for ends at once.
 */
const whole = (
  body: AsyncIterable<Uint8Array>,
  connection: DaemonConnection,
): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]() {
    const parts = body[Symbol.asyncIterator]()
    return {
      async next() {
        try {
          const part = await parts.next()
          if (part.done === true) connection.close()
          return part
        } catch (error) {
          connection.close()
          throw toShown(error)
        }
      },
      async return() {
        connection.close()
        return { done: true, value: undefined }
      },
    }
  },
})

const isBitByBit = (body: Content['body']): body is AsyncIterable<Uint8Array> =>
  typeof body !== 'string' && !(body instanceof Uint8Array)

interface AskingDaemon {
  readonly ask: Ask
  /** Closes the connections of all pending calls. */
  readonly close: () => void
}

/**
 * Returns the client of the running daemon.
 * @param scope the highest permitted scope
 * @param token returns the token to use; null for the command line's own token
 */
export function askingDaemon(
  place: InstanceFolders,
  scope: Scope,
  token: () => string | null,
): AskingDaemon {
  const open = new Set<DaemonConnection>()

  async function connected(): Promise<DaemonConnection> {
    try {
      const connection = await daemonAt(place, token())
      requireSameVersion(connection)
      const close = () => {
        open.delete(proven)
        connection.close()
      }
      const proven: DaemonConnection = { ...connection, close }
      open.add(proven)
      return proven
    } catch (error) {
      throw error instanceof StartError ? away(error, !isForSystem(place)) : error
    }
  }

  return {
    async ask(call) {
      demand(scope, call)
      const { route, segments, body } = call
      const query = queryWithin(scope, call)
      const media = route.media !== undefined
      const path = `/${segments.map(encodeURIComponent).join('/')}`
      const connection = await connected()
      let streams = false
      try {
        const value = await connection.send({ route, path, query, body })
        if (!media) return { value, media }
        const content = value as Content
        const { body: sent } = content
        if (!isBitByBit(sent)) return { value, media }
        streams = true
        return { value: { ...content, body: whole(sent, connection) }, media }
      } catch (error) {
        throw toShown(error)
      } finally {
        if (!streams) connection.close()
      }
    },
    close() {
      for (const connection of open) connection.close()
    },
  }
}

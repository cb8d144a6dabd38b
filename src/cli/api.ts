/**
 * How the command line reaches the account. The holder of the state lock is the only writer: when a daemon holds it, the
 * command line asks that daemon over HTTP; when nobody does, it opens the state itself and answers in this process.
 */
import { rest } from '../api/rest/index.ts'
import { clientOf } from '../client.ts'
import type { Config } from '../config.ts'
import { StartError } from '../errors.ts'
import { readPrivate } from '../state/folder.ts'
import type { Lock } from '../state/lock.ts'
import type { Api, Io } from './command.ts'
import type { DaemonConnection } from './connection-to-daemon.ts'
import { holderOf } from './holder.ts'

/** The token that the person chose for the command line, or null to use its own. */
function chosenToken({ token, tokenFile }: Config): string | null {
  if (token !== null) return token
  if (tokenFile === null) return null
  const text = readPrivate(tokenFile)
  if (text === null)
    throw new StartError('configuration', `SVC_TOKEN_FILE names ${tokenFile}, which is not there.`)
  return text.trim()
}

async function here<T>(
  config: Config,
  io: Io,
  lock: Lock,
  chosen: string | null,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const [{ openDaemon }, { newLog }, { splitTarget }] = await Promise.all([
    import('../daemon.ts'),
    import('../log.ts'),
    import('../path.ts'),
  ])
  const log = newLog(config.logLevel, (line) => void io.stderr.write(line))
  const daemon = await openDaemon(config, log, lock)
  const token = chosen ?? daemon.token()
  const api = clientOf(rest, async ({ route, path, query, body }) => {
    const { segments } = splitTarget(path)
    const { method } = route
    const request = { method, segments, query, accept: '', token, body: async () => body }
    return (await daemon.dispatch(request)).value
  })
  try {
    return await work(api)
  } finally {
    await daemon.close()
  }
}

async function overHttp<T>(daemon: DaemonConnection, work: (api: Api) => Promise<T>): Promise<T> {
  try {
    return await work(clientOf(rest, (request) => daemon.send(request)))
  } finally {
    daemon.close()
  }
}

/** Work with the account's API, wherever it is. Throws what the API throws, or StartError. */
export async function withApi<T>(
  config: Config,
  io: Io,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const token = chosenToken(config)
  const holder = await holderOf(config.stateDir, token)
  if ('unproven' in holder) throw holder.unproven
  return 'lock' in holder
    ? here(config, io, holder.lock, token, work)
    : overHttp(holder.daemon, work)
}

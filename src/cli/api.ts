/**
 * How the command line reaches the account. The holder of the state lock is the only writer: when a daemon holds it, the
 * command line asks that daemon over HTTP; when nobody does, it opens the state itself and answers in this process.
 */
import { rest } from '../api/rest/index.ts'
import { clientOf } from '../client.ts'
import type { Config } from '../config.ts'
import { openFolder, readPrivate } from '../state/folder.ts'
import { lockState } from '../state/lock.ts'
import { StartError } from '../errors.ts'
import type { Api, Io } from './command.ts'

/** The token that the person chose for the command line, or null to use its own. */
function chosenToken({ token, tokenFile }: Config): string | null {
  if (token !== null) return token
  if (tokenFile === null) return null
  const text = readPrivate(tokenFile)
  if (text === null)
    throw new StartError('configuration', `SVC_TOKEN_FILE names ${tokenFile}, which is not there.`)
  return text.trim()
}

async function here<T>(config: Config, io: Io, work: (api: Api) => Promise<T>): Promise<T> {
  const [{ openDaemon }, { newLog }, { splitTarget }] = await Promise.all([
    import('../daemon.ts'),
    import('../log.ts'),
    import('../path.ts'),
  ])
  const log = newLog(config.logLevel, (line) => void io.stderr.write(line))
  const chosen = chosenToken(config)
  const daemon = await openDaemon(config, log)
  const token = chosen ?? daemon.token
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

async function overHttp<T>(config: Config, work: (api: Api) => Promise<T>): Promise<T> {
  const { connect } = await import('./connection-to-daemon.ts')
  const connection = await connect(config.stateDir, chosenToken(config))
  try {
    return await work(clientOf(rest, (request) => connection.send(request)))
  } finally {
    connection.close()
  }
}

/** Work with the account's API, wherever it is. Throws what the API throws, or StartError. */
export async function withApi<T>(
  config: Config,
  io: Io,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  openFolder(config.stateDir)
  const lock = lockState(config.stateDir)
  if (lock === null) return overHttp(config, work)
  lock.release()
  return here(config, io, work)
}

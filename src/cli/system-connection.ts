/**
 * Connects to the daemon of the whole machine.
 *
 * Root can read the secret in the state folder, so for root both sides prove their identity with
 * it. For other users, the kernel reports the owner of the peer's TCP socket, and a Unix socket is
 * in a folder that only root and the service can change. Before this check, only the greeting is
 * sent.
 */
import type { Socket } from 'node:net'
import { local } from '../api/local/index.ts'
import { rest } from '../api/rest/index.ts'
import { rowsOf } from '../api/rows.ts'
import { peerUid } from '../auth/peer.ts'
import { socketAddress } from '../auth/proof.ts'
import { restNeed } from '../auth/scopes.ts'
import type { Outgoing } from '../api/client.ts'
import { AppError, StartError } from '../errors.ts'
import { splitTarget } from '../http/path.ts'
import { placesText, readRuntime, readRuntimeSecret } from '../storage/runtime-file.ts'
import { type DaemonConnection, bySecret, connectProven } from './daemon-connection.ts'
import { type SystemInstance, type SystemState, isServiceSocket } from './system-instance.ts'

const LOCAL = new Set<unknown>(rowsOf(local).map(({ route }) => route))

const silent = (instance: SystemInstance) => (cause?: unknown) =>
  new StartError(
    'daemonSilent',
    `The program that answers at ${placesText(instance)} is not the countersignd service of this machine (user ${instance.owner}). Nothing was sent to it. Check the log of the service: journalctl -u countersignd`,
    cause,
  )

const onlyRoot = () =>
  new AppError(
    'forbidden',
    'Only root can run this command on the countersignd service of this machine. Run it again with sudo.',
  )

const tokenWanted = () =>
  new AppError(
    'unauthorized',
    'The countersignd service of this machine requires a token for this command. Create one with "countersignd token create --name NAME --scope read|write|full", write it to a file of mode 0600, and set SVC_TOKEN_FILE to the path of that file.',
  )

const notNamed = (cause: AppError) =>
  new AppError(
    'peer_not_allowed',
    'You are not allowed to create tokens for the countersignd service of this machine. Run the command again with sudo, or ask the operator to add you to SVC_TOKEN_USERS in /etc/countersign/countersignd.env and to run "sudo systemctl restart countersignd".',
    { cause },
  )

/**
 * Returns the request to send without a token: a public route, or the creation of a token.
 *
 * To create a token, the request goes to the route that authenticates the user of the connection.
 */
function withoutToken(request: Outgoing): Outgoing {
  const { route, path } = request
  if (route === rest.apiTokens.create)
    return { ...request, route: rest.token.create, path: rest.token.create.path }
  if (restNeed(route.method, splitTarget(path).segments) !== 'none') throw tokenWanted()
  return request
}

async function asRoot(
  instance: SystemInstance,
  { dir, check }: SystemState,
  token: string | null,
): Promise<DaemonConnection> {
  const refusal = silent(instance)
  const runtime = readRuntime(dir, check)
  const secret = readRuntimeSecret(dir, check)
  if (runtime === null || secret === null) throw refusal()
  const proof = { ...bySecret(runtime, secret, token), silent: refusal }
  return { ...(await connectProven(runtime, proof)), run: runtime, trusted: true }
}

/**
 * Whether the peer of a connection to the service is the service.
 * @param address that of the connection, as in proofs
 */
const isOfService = (
  { owner, socket: path }: SystemInstance,
  socket: Socket,
  address: string,
): boolean =>
  path !== null && address === socketAddress(path)
    ? isServiceSocket(path, owner)
    : peerUid(socket) === owner

async function asOther(instance: SystemInstance, token: string | null): Promise<DaemonConnection> {
  const connection = await connectProven(instance, {
    greeting: {},
    isProven: ({ status }, socket, address) =>
      status === 200 && isOfService(instance, socket, address),
    token,
    silent: silent(instance),
  })
  return {
    ...connection,
    run: instance,
    trusted: false,
    async send(request) {
      if (LOCAL.has(request.route)) throw onlyRoot()
      try {
        return await connection.send(token === null ? withoutToken(request) : request)
      } catch (error) {
        const unnamed = error instanceof AppError && error.code === 'peer_not_allowed'
        throw unnamed ? notNamed(error) : error
      }
    },
  }
}

/**
 * Connects to the daemon of the whole machine.
 * @param token the token to use. Null for the command line's own token, which only root can have;
 * for other users, no token.
 * @throws StartError `daemonSilent` if there is no answer, or if the peer is not that daemon
 */
export const connectToSystem = (
  instance: SystemInstance,
  token: string | null,
): Promise<DaemonConnection> =>
  instance.state === null ? asOther(instance, token) : asRoot(instance, instance.state, token)

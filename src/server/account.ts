/** The account server's listener, the same whether a daemon carries it or it runs alone. */
import { entrance, signedIn } from '../api/device/index.ts'
import type { Session, Visitor } from '../api/port.ts'
import { rest } from '../api/rest/index.ts'
import type { Table } from '../api/route.ts'
import { site } from '../api/site/index.ts'
import { ACCOUNT, type Standing, scopeTable } from '../auth/scopes.ts'
import type { Config } from '../config.ts'
import { type Gate, type Request, newDispatch } from '../dispatch.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { AccountServer } from '../service/service.ts'
import { hostsOf } from './hosts.ts'
import { type Listening, listen } from './server.ts'

/** The rows of the interface that an account answers: what daemons ask for their callers. */
const forAccounts = Object.fromEntries(
  Object.entries<Table[string]>(rest).map(([group, routes]) => [
    group,
    Object.fromEntries(
      Object.entries(routes).filter(([, { by }]) => by === 'account' || by === 'both'),
    ),
  ]),
)

/** Everything that an account server answers. */
export const accountTable: Table = { ...forAccounts, ...signedIn, ...entrance, ...site }

type Caller = Session & { readonly scope: Standing }

const NOBODY: Visitor = { key: null }

const unauthorized = () =>
  new AppError(
    'unauthorized',
    'This route needs the session of a device ("Authorization: DPoP <token>" with its proof) or a machine account’s token ' +
      '("Authorization: Bearer <token>").',
    // RFC 9110 section 11.6.1: a challenge for each. RFC 6750 section 3: no error code when there were no credentials.
    { headers: { 'WWW-Authenticate': 'Bearer, DPoP algs="Ed25519 EdDSA"' } },
  )

/** The proof of a request, as the account server judges it. */
const proofOf = ({ proof, method, segments }: Request) =>
  proof === undefined ? null : { text: proof, method, path: `/${segments.join('/')}` }

/** Who may come in to an account server. */
export const accountGate = (server: AccountServer): Gate<Caller> => ({
  need: scopeTable(ACCOUNT),
  unauthorized,
  // A proof beside a token that was presented alone does not make it a bound one.
  authenticate: (request) =>
    server.authenticate({
      token: request.token,
      proof: request.scheme === 'DPoP' ? proofOf(request) : null,
    }),
  context: (caller, request) =>
    caller ?? (request.proof === undefined ? NOBODY : server.visitor(proofOf(request))),
  // An id says what it is of.
  callerId: ({ token, session, account }) => token ?? session ?? account,
  once: server.once,
})

/**
 * Let an account server listen at `accountBind` and `accountPort`.
 * @throws StartError when the port is taken or the address cannot be bound
 */
export const listenForAccount = (
  config: Pick<Config, 'accountBind' | 'accountPort' | 'publicUrl'>,
  { server, log }: { readonly server: AccountServer; readonly log: Log },
): Promise<Listening> =>
  listen({
    bind: config.accountBind,
    port: config.accountPort,
    log,
    dispatch: newDispatch(accountTable, { ...server.answers, ...server.open }, accountGate(server)),
    proofNonce: () => server.nonce(),
    rules: (port) => ({
      hosts: hostsOf(config.accountBind, port, config.publicUrl),
      navigable: /^\/[gs]\/\w+$/,
      tokenPath: null,
      peerAllowed: () => true,
    }),
  })

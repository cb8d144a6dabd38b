/**
 * A daemon with data to attack, every kind of caller, and the access of each. The account has
 * every resource that the interface can create, with HTML in each text, so that a successful
 * attack changes or shows something.
 */
import assert from 'node:assert/strict'
import type { AccessLevel } from '../../src/auth/scopes.ts'
import { newToken } from '../../src/crypto/token.ts'
import type { RequestChannel } from '../../src/http/dispatch.ts'
import { type Answer, type Question, ask } from '../daemon.ts'
import { activeOrganisation, newMachine } from '../handlers/people.ts'
import { HTML, POSTS, type Place, daemonAt, devices, prover } from './populated.ts'
import { type Listener, type Tables, type Target, TABLES, targetsOf } from './routes.ts'
import { pathIn } from '../unix-url.ts'
import { until } from '../until.ts'

/** A caller of a listener. */
export interface Caller {
  readonly name: string
  /** The access level; null for a caller without access. */
  readonly standing: AccessLevel | null
  /** The error for a caller without access. */
  readonly refusal: 'unauthorized' | 'invalid_token'
  /**
   * Returns the header lines with the caller’s credentials: new ones for each request if they are
   * valid once.
   */
  lines(method: string, path: string): Promise<readonly string[]>
}

export interface Scene {
  /** How the API is attacked. The account server has no Unix socket. */
  readonly channel: RequestChannel
  readonly at: Readonly<Record<Listener, { readonly address: string; readonly host: string }>>
  readonly targets: readonly Target[]
  readonly callers: Readonly<Record<Listener, readonly Caller[]>>
  /** Returns a caller by name. */
  caller(listener: Listener, name: string): Caller
  /** Returns a caller with access to this route. */
  opens(target: Target): Caller
  /**
   * Returns that caller’s header lines. They are the same at every request of one target, for
   * requests that are rejected before their check.
   */
  opening(target: Target): Promise<readonly string[]>
  /** The texts that no answer may contain. */
  readonly secrets: readonly string[]
  /** Sends a request to the API with a token of scope full. */
  request(method: string, path: string, question?: Question): Promise<Answer>
  /** Returns the account and its tokens in a comparable form; no attack may change them. */
  state(): Promise<string>
  /** The process to pause; undefined if the daemon runs in this one. */
  readonly pid: number | undefined
}

interface Made {
  readonly token: string
  readonly id: string
}

/** The Host that pages of the API have; on a Unix socket, that of a daemon with TCP. */
const ownHost = (address: string) =>
  pathIn(address) === null ? new URL(address).host : '127.0.0.1:19821'

const bearer = (token: string, scheme = 'Bearer') => [`Authorization: ${scheme} ${token}`]

const holder = (
  name: string,
  standing: AccessLevel | null,
  lines: readonly string[],
  refusal: Caller['refusal'] = 'invalid_token',
): Caller => ({ name, standing, refusal, lines: async () => lines })

/** Routes that list resources or return one. */
const LASTING =
  /^\/api\/v1\/(?!audit|health|docs|doctor|openapi|status|sync|tools|verification-log|trust\/metrics|org\/activity|.*(suggest|analytics))[^{]+$/

/** Members of resources that change when they are read. */
const VOLATILE =
  /^(last_|uptime|used|seen|started|finished|current|valid|words|summary|at$|checked)/
const lasting = (key: string, value: unknown) => (VOLATILE.test(key) ? undefined : value)

/**
 * Creates the data of a daemon that was just started.
 * @param pid of its process, if it is another one
 */
export async function newScene(
  place: Place,
  pid?: number,
  tables: Tables = TABLES,
): Promise<Scene> {
  const daemon = daemonAt(place)
  const { address, accountAddress } = place
  const full = await daemon.token('full')
  const request: Scene['request'] = (method, path, question = {}) =>
    ask(address, method, path, { token: full, ...question })
  const made = async (path: string, body: object, token = full): Promise<Made> => {
    const { status, json, text } = await request('POST', path, { body, token })
    assert(status < 300, `${path}: ${status} ${text}`)
    return json as Made
  }
  const gone = await made('/api/v1/token', { name: 'gone', scope: 'full' })
  await request('DELETE', `/api/v1/api-tokens/${gone.id}`)
  const brief = await made('/api/v1/token', { name: 'brief', scope: 'full', expires_in: 1 })

  const machine = await newMachine(daemon, await activeOrganisation(daemon))
  const machineFull = await machine.token('full')
  const ended = await machine.token('full')
  const listed = await request('GET', '/api/v1/api-tokens', { token: ended })
  const { items: machineTokens } = listed.json as { items: { id: string }[] }
  await request('DELETE', `/api/v1/api-tokens/${machineTokens[0]!.id}`, { token: machineFull })
  const scoped = {
    read: await daemon.token('read'),
    write: await daemon.token('write'),
    full,
  }
  const machines = {
    read: await machine.token('read'),
    write: await machine.token('write'),
    full: machineFull,
  }
  const { approved, waiting } = await devices(place)
  await request('PATCH', '/api/v1/profile', { body: { display_name: HTML, headline: HTML } })
  const ids = new Map<string, string>()
  for (const [path, body] of POSTS) {
    const resource = (await made(path, body)) as Made & { slug?: string }
    ids.set(path.slice(path.lastIndexOf('/') + 1), resource.id)
    if (resource.slug !== undefined) ids.set('o', resource.slug)
  }
  const external_member_id = ids.get('external-members')!
  const guest = await made('/api/v1/guest-codes', { label: HTML, external_member_id })
  ids.set('g', guest.id).set('s', ids.get('stamp')!)
  // Any client with the link opens the page; the first opening notifies the owner.
  await ask(accountAddress, 'POST', `/g/${ids.get('g')}/opened`)
  const lists = Object.values(tables.api)
    .flatMap((group) => Object.values(group))
    .filter(
      ({ method, path, lasting: isStream }) =>
        method === 'GET' && isStream !== true && LASTING.test(path),
    )
  for (const { path } of lists) {
    const { items } = (await request('GET', path)).json as { items?: { id?: string }[] }
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (items?.[0]?.id !== undefined && !ids.has(name)) ids.set(name, items[0].id)
  }
  await until(
    'the end of a token',
    async () => (await request('GET', '/api/v1/status', { token: brief.token })).status !== 200,
  )

  const prove = prover(accountAddress)
  const device = (name: string, standing: AccessLevel, credentials: typeof approved): Caller => ({
    name,
    standing,
    refusal: 'invalid_token',
    lines: (method, path) => prove(credentials, method, path),
  })
  const unknown = { csd: newToken('csd_'), csm: newToken('csm_') }
  const SCOPES = ['read', 'write', 'full'] as const
  const channel = pathIn(address) === null ? 'tcp' : 'socket'
  const unbound = channel === 'tcp' ? 'invalid_token' : 'unauthorized'
  const callers: Scene['callers'] = {
    api: [
      holder('nobody', null, [], 'unauthorized'),
      holder('an unknown token', null, bearer(unknown.csd)),
      holder('a malformed token', null, bearer('csd_x')),
      holder('a revoked token', null, bearer(gone.token)),
      holder('an expired token', null, bearer(brief.token)),
      holder('a token of another scheme', null, bearer(full, 'Token'), 'unauthorized'),
      // The Unix socket has no bound tokens.
      holder('a token as a bound one', null, bearer(full, 'DPoP'), unbound),
      holder('a token by password', null, bearer(btoa(`x:${full}`), 'Basic'), 'unauthorized'),
      holder('an unknown machine’s token', null, bearer(unknown.csm)),
      holder('a revoked machine’s token', null, bearer(ended)),
      holder('the session of a device', null, bearer(approved.token)),
      ...SCOPES.map((scope) => holder(scope, scope, bearer(scoped[scope]))),
      ...SCOPES.map((scope) => holder(`machine ${scope}`, scope, bearer(machines[scope]))),
      holder('owner', 'owner', bearer(daemon.owner())),
    ],
    account: [
      holder('nobody', null, [], 'unauthorized'),
      holder('a token of the daemon', null, bearer(full)),
      holder('the command line of the daemon', null, bearer(daemon.owner())),
      holder('an unknown machine’s token', null, bearer(unknown.csm)),
      holder('a revoked machine’s token', null, bearer(ended)),
      holder('a machine’s token as a bound one', null, bearer(machineFull, 'DPoP')),
      holder('a session without its key', null, bearer(approved.token)),
      holder('a session without a proof', null, bearer(approved.token, 'DPoP')),
      {
        ...device('a session with another key', 'session', { ...approved, key: waiting.key }),
        standing: null,
      },
      ...SCOPES.map((scope) => holder(`machine ${scope}`, scope, bearer(machines[scope]))),
      device('waiting device', 'device', waiting),
      device('device', 'session', approved),
    ],
  }
  const caller: Scene['caller'] = (listener, name) => {
    const found = callers[listener].find((one) => one.name === name)
    assert(found, `no caller ${name} at ${listener}`)
    return found
  }
  const opens: Scene['opens'] = ({ listener, need }) => {
    if (listener === 'api') return caller('api', need === 'owner' ? 'owner' : 'full')
    return caller('account', need === 'session' || need === 'device' ? 'device' : 'machine full')
  }
  const known = new Map<Target, Promise<readonly string[]>>()
  return {
    channel,
    at: {
      api: { address, host: ownHost(address) },
      account: { address: accountAddress, host: new URL(accountAddress).host },
    },
    targets: targetsOf(tables, (collection) =>
      ids.get(collection.slice(collection.lastIndexOf('/') + 1)),
    ),
    callers,
    caller,
    opens,
    opening(target) {
      const had = known.get(target)
      if (had !== undefined) return had
      const lines = opens(target).lines(target.method, target.path)
      known.set(target, lines)
      return lines
    },
    secrets: [
      ...Object.values(scoped),
      ...Object.values(machines),
      gone.token,
      brief.token,
      ended,
      approved.token,
      waiting.token,
      daemon.owner(),
      unknown.csd,
      unknown.csm,
    ],
    request,
    async state() {
      const all = lists.map(async ({ path }) => {
        const { status, json } = await request('GET', path, { token: daemon.owner() })
        return [path, status, JSON.stringify(json, lasting)]
      })
      return JSON.stringify(await Promise.all(all), null, 1)
    },
    pid,
  }
}

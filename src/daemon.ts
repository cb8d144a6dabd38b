/**
 * Composition: the only place that knows every room. `openDaemon` puts the daemon together without listening (the command
 * line uses it so when no daemon runs); `serve` lets it listen.
 */
import { join } from 'node:path'
import { entrance, signedIn } from './api/device/index.ts'
import { rest } from './api/rest/index.ts'
import { site } from './api/site/index.ts'
import { peerCheck } from './auth/peer.ts'
import { commandLineToken, daemonProof } from './auth/proof.ts'
import { ACCOUNT, REST, type Scope, scopeTable } from './auth/scopes.ts'
import { type Caller, openTokens } from './auth/tokens.ts'
import type { Config } from './config.ts'
import { openDevice } from './device/device.ts'
import { openIdentity } from './device/identity.ts'
import { type Dispatch, newDispatch } from './dispatch.ts'
import { AppError, StartError } from './errors.ts'
import type { Context } from './handlers/context.ts'
import { restAnswers } from './handlers/index.ts'
import { openKeychain } from './keychain/keychain.ts'
import type { Log } from './log.ts'
import type { GuardRules } from './server/guard.ts'
import { type Listening, listen } from './server/server.ts'
import { type AccountServer, openService } from './service/service.ts'
import { openFolder } from './state/folder.ts'
import { type Lock, lockState } from './state/lock.ts'
import { readRuntime, removeRuntime, stateSecret, writeRuntime } from './state/runtime.ts'
import { openState } from './state/state.ts'
import { VERSION } from './version.ts'

const GRACE_MS = 5_000
const FLUSH_MS = 10_000
const START_SYNC_MS = 100
const SYNC_MS = 15 * 60_000

export interface Daemon {
  /** Answer a request to the REST table, as the API listener does. */
  readonly dispatch: Dispatch
  /** A token of full scope for this run, which only holders of the state folder's secret can derive. */
  token(): string
  readonly log: Log
  close(): Promise<void>
}

interface Opened extends Daemon {
  readonly server: AccountServer
  readonly secret: Uint8Array
  readonly nonce: string
  readonly sync: Context['local']['sync']
  readonly flush: () => void
  setPublicUrl(url: string): void
}

const hostOf = (bind: string) => (bind.includes(':') ? `[${bind}]` : bind)
const urlOf = (bind: string, port: number) => `http://${hostOf(bind)}:${port}`

function takeLock(dir: string): Lock {
  openFolder(dir)
  const lock = lockState(dir)
  if (lock !== null) return lock
  const address = readRuntime(dir)?.address
  throw new StartError(
    'stateInUse',
    `The state folder ${dir} is in use by another countersignd${address ? ` at ${address}` : ''}. Stop it, or set SVC_STATE_DIR to another folder.`,
  )
}

/**
 * Put the daemon together over its state folder. Throws StartError for every reason not to.
 * @param lock the folder's lock when the caller has taken it; from here on it is the daemon's, also when this throws
 */
export async function openDaemon(
  config: Config,
  log: Log,
  lock: Lock = takeLock(config.stateDir),
): Promise<Opened> {
  const { stateDir } = config
  const closers: (() => void | Promise<void>)[] = [() => lock.release()]
  const close = async () => {
    for (const closer of closers.toReversed())
      try {
        await closer()
      } catch (cause) {
        // The rest is closed all the same: the lock above all.
        log('error', 'not closed cleanly', { cause })
      }
  }
  try {
    const state = openState(stateDir)
    closers.push(() => state.close())
    const secret = stateSecret(stateDir)
    const keychain = await openKeychain({
      stateDir,
      choice: config.keychain,
      credentialsDir: config.credentialsDir,
    })
    let publicUrl = config.publicUrl ?? urlOf(config.accountBind, config.accountPort)
    const now = Date.now
    const server = await openService({
      url: config.databaseUrl,
      file: join(stateDir, 'account.db'),
      publicUrl: () => publicUrl,
      version: VERSION,
      now,
    })
    closers.push(() => server.close())
    const enrolHere = async () => {
      const { enrol, ownNames } = await import('./device/enrolment.ts')
      return enrol(state, keychain, server.door, server.newEnrolmentCode, ownNames(), now())
    }
    const identity = openIdentity(state, keychain) ?? (await enrolHere())
    const account = server.as({
      account: identity.account,
      device: identity.device,
      session: identity.session,
    })
    // Unique is enough: without the secret nothing follows from it.
    const nonce = `${process.pid}-${process.hrtime.bigint()}`
    const token = () => commandLineToken(secret, nonce)
    const tokens = openTokens({ keychain, rows: state.tokens, now, commandLineToken: token })
    closers.push(() => tokens.flush())
    const device = openDevice({
      state,
      keychain,
      identity,
      account: () => account,
      now,
      log,
      // An account in this process has this clock, and everything it knows is here.
      freshness: { offsetMs: () => 0, lastSyncAt: now },
      run: {
        startedAt: now(),
        environment: config.environment,
        backend: () => publicUrl,
        keychain: keychain.backend,
      },
    })
    const local = { ...device, tokens }
    const dispatch = newDispatch<Caller>(rest, restAnswers, {
      need: scopeTable(REST),
      authenticate: (given, digest) => tokens.authenticate(given, digest),
      context: (caller, accept): Context => ({ account, local, caller, accept }),
    })
    return {
      dispatch,
      token,
      log,
      close,
      server,
      secret,
      nonce,
      sync: device.sync,
      flush: () => tokens.flush(),
      setPublicUrl: (url) => {
        publicUrl = config.publicUrl ?? url
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

const rules = (
  bind: string,
  port: number,
  given: Pick<GuardRules, 'navigable' | 'tokenPath' | 'peerAllowed'>,
  publicUrl: string | null = null,
): GuardRules => {
  const hosts = new Map<string, string>()
  for (const name of [hostOf(bind), 'localhost']) {
    // On port 80 clients leave the port out of Host and Origin (RFC 9110 section 4.2.3).
    const { host, origin } = new URL(`http://${name}:${port}`)
    hosts.set(`${name}:${port}`, origin).set(host, origin)
  }
  if (publicUrl !== null) hosts.set(new URL(publicUrl).host, new URL(publicUrl).origin)
  return { hosts, ...given }
}

/** A device's session is bound to its key; a bare token on this listener proves nothing (RFC 9449 section 7.1). */
function refuseBareToken(): never {
  throw new AppError(
    'invalid_token',
    'A device session is bound to its key: a bare token is not taken.',
    {
      headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    },
  )
}

const listenForAccount = (config: Config, { server, log }: Opened): Promise<Listening> =>
  listen({
    bind: config.accountBind,
    port: config.accountPort,
    log,
    dispatch: newDispatch<{ scope: Scope | 'session' }>(
      { ...entrance, ...signedIn, ...site },
      { ...server.answers, ...server.open },
      { need: scopeTable(ACCOUNT), authenticate: refuseBareToken, context: () => null },
    ),
    rules: (port) =>
      rules(
        config.accountBind,
        port,
        { navigable: /^\/[gs]\/\w+$/, tokenPath: null, peerAllowed: () => true },
        config.publicUrl,
      ),
  })

const listenForApi = (config: Config, { dispatch, log, secret }: Opened): Promise<Listening> => {
  let address = ''
  return listen({
    bind: config.bind,
    port: config.port,
    log,
    dispatch,
    prove: (nonce) => daemonProof(secret, nonce, address),
    rules: (port) => {
      address = urlOf(config.bind, port)
      return rules(config.bind, port, {
        navigable: /^\/api\/v1\/docs$/,
        tokenPath: '/api/v1/token',
        peerAllowed: peerCheck(config.tokenUsers),
      })
    },
  })
}

/** Open the daemon and let it listen: the API and, beside it, the account server's own listener. */
export async function serve(
  config: Config,
  log: Log,
  lock?: Lock,
): Promise<{ address: string; accountAddress: string; close(): Promise<void> }> {
  const daemon = await openDaemon(config, log, lock)
  const listeners: Listening[] = []
  const timers: NodeJS.Timeout[] = []
  const close = async () => {
    for (const timer of timers) clearInterval(timer)
    removeRuntime(config.stateDir)
    await Promise.all(listeners.map((listener) => listener.close(GRACE_MS)))
    await daemon.sync.idle()
    await daemon.close()
  }
  try {
    const opening = [listenForAccount(config, daemon), listenForApi(config, daemon)] as const
    for (const outcome of await Promise.allSettled(opening))
      if (outcome.status === 'fulfilled') listeners.push(outcome.value)
    const [forAccount, forApi] = await Promise.all(opening)
    const accountAddress = urlOf(config.accountBind, forAccount.port)
    daemon.setPublicUrl(accountAddress)
    const address = urlOf(config.bind, forApi.port)
    writeRuntime(config.stateDir, {
      pid: process.pid,
      address,
      nonce: daemon.nonce,
      version: VERSION,
    })
    log('info', 'listening', { address, account_address: accountAddress, version: VERSION })
    timers.push(
      // Whoever waits for the first answer need not wait for the sync.
      setTimeout(() => void daemon.sync.run('start'), START_SYNC_MS),
      setInterval(() => {
        try {
          daemon.flush()
        } catch (cause) {
          // A full disk, mostly: the times are kept in memory and written at the next turn.
          log('error', 'last uses of tokens not written', { cause })
        }
      }, FLUSH_MS),
      setInterval(() => void daemon.sync.run('timer'), SYNC_MS),
    )
    return { address, accountAddress, close }
  } catch (error) {
    await close()
    throw error
  }
}

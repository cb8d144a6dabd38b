/**
 * Assembles the daemon. Only this module imports all layers. `openDaemon` builds the daemon without
 * listening, which is what the command line uses if no daemon is running. `serve` also starts the
 * listeners.
 */
import { setImmediate } from 'node:timers/promises'
import { agents } from '../api/agents/index.ts'
import { consoleTable } from '../api/console/index.ts'
import { docsTable } from '../api/docs/index.ts'
import { local } from '../api/local/index.ts'
import { rest } from '../api/rest/index.ts'
import type { ConsoleAccess } from '../auth/console/access.ts'
import { isMachineToken, machineCaller } from '../auth/machines.ts'
import { commandLineToken } from '../auth/proof.ts'
import { restNeed } from '../auth/scopes.ts'
import { newTokenLinks } from '../auth/token-links.ts'
import { type Caller, openTokens } from '../auth/tokens.ts'
import type { Config } from '../config/config.ts'
import { keptSince } from '../config/retention.ts'
import { firstIdAt } from '../crypto/encoding/id.ts'
import { announce, type ConsoleDoor, listenForApi, withdrawAnnouncement } from './api-listener.ts'
import { type Backend } from './backend.ts'
import { openBackend } from './open-backend.ts'
import type { Backups } from './backup.ts'
import { ofFolder, requireSameServer } from './folder.ts'
import { bootId, machineUptime } from '../device/codes/uptime.ts'
import { observe } from './observed.ts'
import { newSyncSchedule, newTurn, type Trigger } from './schedule.ts'
import { logStory } from './story.ts'
import { isAsked } from '../device/identity/marks.ts'
import { openDevice } from '../device/device.ts'
import type { HintFollower } from '../device/sync/hint-follower.ts'
import { newCopies } from '../device/copies/copies.ts'
import { newReachability } from '../device/sync/reachability.ts'
import { ownNames } from '../device/system-names.ts'
import { knownServer, openIdentity } from '../device/identity/identity.ts'
import { type DeviceSession, openDeviceSession } from '../device/session/session.ts'
import type { SignInFlow } from '../device/session/sign-in-flow.ts'
import { newSignIn } from '../device/session/sign-in.ts'
import { embeddedGone, noAccountYet } from '../device/identity/refusals.ts'
import { type Dispatch, type Outcome, type Request, newDispatch } from '../http/dispatch.ts'
import { agentAnswers, consoleAnswers, docsAnswers, restAnswers } from '../handlers/index.ts'
import { type Home, contextOf } from '../handlers/context.ts'
import { withCopies } from '../handlers/copied.ts'
import { localAnswers } from '../handlers/local.ts'
import { openKeychain } from '../keychain/keychain.ts'
import type { Log } from '../log.ts'
import type { Listening } from '../http/server.ts'
import { type Audit, type Deed, openAudit } from '../storage/audit.ts'
import { openIdempotency } from '../storage/idempotency.ts'
import { type Lock, takeLock } from '../storage/lock.ts'
import { finishSettingAside } from '../storage/set-aside.ts'
import { removeConsolePage, stateSecret } from '../storage/runtime-file.ts'
import { STATE_VERSIONS } from '../state/migrations.ts'
import { openState } from '../state/state.ts'
import { VERSION } from '../runtime/version.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

/** How many old entries of the verification log are deleted at once. */
const TRIM = 1000

/** Returns the audit log entry for the daemon's start or stop. */
const ofDaemon = (outcome: 'started' | 'stopped'): Deed => ({
  requestId: null,
  peer: () => process.getuid?.() ?? null,
  token: null,
  route: null,
  status: null,
  outcome,
})

/** The routes of the API listener if SVC_CONSOLE is off. */
const withoutConsole = { ...rest, ...docsTable, ...agents, ...local }
/** All routes of the API listener. */
export const apiTable = { ...withoutConsole, ...consoleTable }

const GRACE_MS = 5_000
const FLUSH_MS = 10_000

interface Daemon {
  /**
   * Handles a request as the API listener does. It covers the REST routes, and the routes that only
   * the command line may call.
   */
  readonly dispatch: Dispatch
  /**
   * Returns the command line's token for this run. It can be derived only with the state folder's
   * secret.
   */
  token(): string
  readonly log: Log
  /**
   * Creates the embedded account if the folder has no account yet. Does nothing with a remote
   * account server.
   */
  enrol(): Promise<void>
  close(): Promise<void>
}

/** The question for the name of an embedded account. */
interface NameQuestion {
  /** Returns whether the user has not declined to have a name. */
  isOpen(): boolean
  /** Stores that the user declined to have a name. */
  decline(): void
}

/** The name of the row in `meta` for a user who declined to have a name. */
const NAME_DECLINED = 'name_declined'

interface Opened extends Daemon {
  readonly backend: Backend
  readonly deviceSession: DeviceSession
  readonly signIn: SignInFlow
  readonly secret: Uint8Array
  readonly nonce: string
  readonly audit: Audit
  /** Writes the outcome of a request to the audit log. */
  readonly record: (outcome: Outcome) => void
  readonly flush: () => void
  readonly consoleDoor: ConsoleDoor | null
  /** Ends the answers that last until they are closed, and the deliveries to webhooks. */
  readonly endStreams: () => void
  /** Logs the events from now on. Returns a function that ends this. */
  readonly logStory: () => () => void
  /** Shows the events from now on on the desktop. Returns a function that ends this. */
  readonly showOnDesktop: () => Promise<() => void>
  /** Whether the user is asked for a name; null if the account is not embedded. */
  readonly nameQuestion: NameQuestion | null
  /**
   * Begins to deliver events to webhooks.
   * @param ports the ports on which this daemon listens
   */
  readonly deliver: (ports: readonly number[]) => Promise<void>
  /** Reads what this device needs to answer reads while a remote account server is away. */
  readonly fillCopies: () => Promise<void>
  /** Reports given-up webhooks to the account server. */
  readonly reportWebhooks: () => Promise<void>
  /** Deletes the uploaded entries of the verification log that are older than configured. */
  readonly trim: () => Promise<void>
  /**
   * Called when a sync should run soon: after a sign-in, an approval, or an operation that other
   * devices respond to. The schedule sets this function.
   */
  onDue: (trigger: Trigger) => void
  /** Returns what this process does as a daemon; null if it does not listen. */
  serving: Home['serving']
}

/**
 * Opens the state folder and builds the daemon, without listening. Creates no account: `enrol`
 * does.
 * @param lock the folder's lock, if the caller has already acquired it. The daemon takes over the
 *   lock and releases it, even if this function throws.
 * @throws StartError if anything prevents the start
 */
export async function openDaemon(
  given: Config,
  log: Log,
  lock: Lock = takeLock(given.stateDir),
): Promise<Opened> {
  const { stateDir } = given
  const closers: (() => void | Promise<void>)[] = [() => lock.release()]
  const close = async () => {
    for (const closer of closers.toReversed())
      try {
        await closer()
      } catch (cause) {
        // The other resources must still be closed, above all the lock.
        log('error', 'could not close cleanly', { cause })
      }
  }
  try {
    finishSettingAside(stateDir)
    const state = openState(stateDir, log)
    closers.push(() => state.close())
    const secret = stateSecret(stateDir)
    const keychain = await openKeychain({
      stateDir,
      choice: given.keychain,
      credentialsDir: given.credentialsDir,
    })
    const stored = openIdentity(state, keychain)
    const config = ofFolder(given, knownServer(state))
    requireSameServer(config, stored)
    let hadAccount = stored !== null
    const now = Date.now
    const backend = await openBackend({ config, keychain, now, log })
    closers.push(() => backend.close())
    const run = {
      startedAt: now(),
      environment: config.environment,
      backend: () => backend.url(),
      keychain: keychain.backend,
    }
    const reachability = newReachability({ ready: () => backend.ready(), now })
    // The embedded account server is never away.
    const copies =
      backend.server === null ? null : newCopies({ state, server: backend.server, now, log })
    closers.push(() => copies?.idle())
    const deviceSession = openDeviceSession({
      state,
      keychain,
      accountOf: (identity) => backend.accountOf(identity, () => signIn.again()),
      deviceOf: (identity, account) =>
        openDevice({
          state,
          keychain,
          identity,
          account,
          clock: backend.clock,
          now,
          log,
          run,
          uptime: machineUptime(),
          boot: bootId(),
          syncSoon: (trigger) => opened.onDue(trigger),
        }),
      taken: () => opened.onDue('start'),
      watch: reachability,
      copies,
      ...(backend.server === null
        ? { absent: () => (hadAccount ? embeddedGone() : noAccountYet()) }
        : {}),
    })
    closers.push(() => deviceSession.device()?.firstContacts.close())
    const signIn = newSignIn({
      state,
      keychain,
      deviceSession,
      door: backend.door,
      server: backend.server,
      now,
      log,
      names: ownNames(),
    })
    // The nonce only needs to be unique. Without the secret, no token can be derived from it.
    const nonce = `${process.pid}-${process.hrtime.bigint()}`
    const token = () => commandLineToken(secret, nonce)
    const audit = openAudit({ dir: stateDir, now, log })
    closers.push(() => audit.close())
    const record = ({ request, callerId: by, error, created, ...outcome }: Outcome) => {
      // A successful request to a public route is not recorded, because it reveals nothing about
      // the account.
      if (by === null && error === null && created === undefined) return
      const { id: requestId, peer, channel } = request
      audit.record({
        ...outcome,
        requestId,
        peer,
        channel,
        token: by,
        outcome: error ?? 'done',
        created,
      })
    }
    let backups: Backups | undefined
    const backup: Backups['create'] = async (passphrase) => {
      const { newBackups } = await import('./backup.ts')
      backups ??= newBackups({ config, state, keychain, now })
      return backups.create(passphrase)
    }
    closers.push(() => backups?.close())
    const scheduling = async () => {
      const { newBackupScheduling } = await import('./backup-scheduling.ts')
      return newBackupScheduling({ state, keychain, now, log })
    }
    const tokens = openTokens({
      keychain,
      rows: state.tokens,
      now,
      commandLineToken: token,
      account: () => deviceSession.identity()?.account ?? null,
    })
    closers.push(() => tokens.flush())
    const ask: Home['ask'] = (asked, { body, ...call }) =>
      // The caller's Accept header applies to the answer of the tool, not to this inner request.
      dispatch({ ...(asked as Request), ...call, accept: '', body: async () => body })
    const tokenLinks = newTokenLinks({ meta: state.meta, now, log })
    const stopping = new AbortController()
    let webhooks: Promise<Webhooks> | undefined
    let ownPorts: readonly number[] = []
    let isServing = false
    const openWebhooks = async () => {
      const { webhooksOf } = await import('../webhooks/index.ts')
      const made = webhooksOf({
        state,
        vault: () => deviceSession.device()?.vault ?? null,
        tokens,
        ownPorts: () => ownPorts,
        now,
        log,
        onGivenUp: () => opened.onDue('timer'),
        stopping: stopping.signal,
      })
      if (isServing) made.start()
      return made
    }
    let consoleAccess: Promise<ConsoleAccess> | undefined
    const openConsoleAccess = async () => {
      const { newConsoleAccess } = await import('../auth/console/access.ts')
      return newConsoleAccess({
        tokens,
        address: () => opened.serving()?.api ?? null,
        dropPage: () => removeConsolePage(stateDir),
        endLinks: (id) => tokenLinks.end(deviceSession.account(), id),
        now,
        log,
      })
    }
    const accessOfConsole = () => (consoleAccess ??= openConsoleAccess())
    let doctor: Promise<Home['doctor']> | undefined
    const openDoctor = async () => {
      const { newDoctorRuns } = await import('./doctor-runs.ts')
      return newDoctorRuns({ stateDir, stopping: stopping.signal })
    }
    let readiness: Promise<Home['readiness']> | undefined
    const openReadiness = async () => {
      const { readinessOf } = await import('./readiness.ts')
      const { signal } = stopping
      return readinessOf({
        stateDir,
        state,
        keychain,
        deviceSession,
        reachability,
        backend,
        now,
        signal,
      })
    }
    closers.push(observe({ state, keychain, deviceSession, serving: () => opened.serving() }))
    const home: Home = {
      ...run,
      now,
      stateDir,
      tokens,
      tokenLinks,
      deviceSession,
      signIn,
      reachability,
      serving: () => opened.serving(),
      events: state.events,
      webhooks: () => (webhooks ??= openWebhooks()),
      hasConsole: config.console,
      console: accessOfConsole,
      doctor: async () => (await (doctor ??= openDoctor()))(),
      readiness: async () => (await (readiness ??= openReadiness()))(),
      stopping: stopping.signal,
      log,
      ask,
    }
    const ownAnswers = { ...restAnswers, ...localAnswers(backup, scheduling) }
    const copied =
      copies === null
        ? ownAnswers
        : withCopies({ ...rest, ...local }, ownAnswers, { copies, reachability, now })
    const dispatch = newDispatch<Caller>(
      config.console ? apiTable : withoutConsole,
      { ...copied, ...docsAnswers, ...agentAnswers, ...consoleAnswers },
      {
        need: restNeed,
        authenticate: (request) => {
          const { token: given, digest, scheme } = request
          if (scheme === 'DPoP') return accessOfConsole().then((access) => access.caller(request))
          return isMachineToken(given)
            ? machineCaller(given, backend.askMachine)
            : tokens.authenticate(given, digest)
        },
        context: (caller, request, act) => contextOf(home, caller, request, act),
        once: openIdempotency({ rows: state.idempotency, now }),
        record,
        // The account server assigns the ids of machine tokens, so the prefix keeps them apart from
        // the ids of this daemon's own tokens.
        callerId: ({ token, machine }) =>
          machine === null ? (token ?? 'command line') : `machine ${token}`,
      },
    )
    const opened: Opened = {
      dispatch,
      token,
      log,
      async enrol() {
        if (deviceSession.identity() !== null || backend.enrol === null) return
        deviceSession.take(await backend.enrol(state, keychain))
        hadAccount = true
      },
      close,
      backend,
      deviceSession,
      signIn,
      secret,
      nonce,
      audit,
      record,
      flush: () => tokens.flush(),
      consoleDoor: config.console
        ? {
            proofNonce: async () => (await accessOfConsole()).nonce(),
            onWorkerAsked: async () => {
              try {
                await (await accessOfConsole()).endAll()
              } catch (cause) {
                log('error', 'could not end the consoles', { cause })
              }
            },
          }
        : null,
      endStreams: () => stopping.abort(),
      logStory: () => logStory(state.events, log),
      nameQuestion:
        backend.enrol === null
          ? null
          : {
              isOpen: () => state.meta.get(NAME_DECLINED) !== true,
              decline: () => state.meta.set(NAME_DECLINED, true),
            },
      async showOnDesktop() {
        const { showOnDesktop } = await import('../desktop/index.ts')
        return showOnDesktop({ events: state.events, deviceSession, now, log })
      },
      async deliver(ports) {
        ownPorts = ports
        isServing = true
        if (webhooks !== undefined || state.hasWebhooks()) (await home.webhooks()).start()
      },
      async fillCopies() {
        if (deviceSession.device() !== null) await copies?.fill(deviceSession.account())
      },
      async reportWebhooks() {
        if (state.hasWebhooks()) await (await home.webhooks()).report(deviceSession.account())
      },
      trim: async () => {
        const { verifications: days } = config.retention
        if (days === null) return
        const before = firstIdAt('ver_', keptSince(days, now()))
        while (state.verifications.trim(before, TRIM) >= TRIM) await setImmediate()
      },
      onDue: () => undefined,
      serving: () => null,
    }
    if (isAsked(state)) {
      const { finishDeletion } = await import('../device/session/account-deletion.ts')
      if (await finishDeletion({ state, keychain, deviceSession, now, log })) tokens.forget()
    }
    return opened
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Opens the daemon and starts its listeners: the API, and the embedded account server if there is
 * one.
 * @returns `address`: the API's URL; null if it does not listen on TCP. `socket`: the path of its
 *   Unix socket; null if there is none. `accountAddress`: the account server's address; null if
 *   there is no embedded account server. `isSignedIn`: whether there is an account, or credentials
 *   with which the daemon may sign in by itself. `nameQuestion`: null if the account is not
 *   embedded
 */
export async function serve(
  config: Config,
  log: Log,
  lock?: Lock,
): Promise<{
  address: string | null
  socket: string | null
  accountAddress: string | null
  isSignedIn: boolean
  nameQuestion: NameQuestion | null
  close(): Promise<void>
}> {
  const daemon = await openDaemon(config, log, lock)
  const { audit, backend, deviceSession } = daemon
  const credentialsDir = backend.server === null ? null : config.credentialsDir
  const turn = newTurn({ ...daemon, credentialsDir })
  const run = async (trigger: Trigger) => {
    const isGood = await turn(trigger)
    await daemon.trim().catch((cause: unknown) => {
      log('error', 'could not delete old entries of the verification log', { cause })
    })
    if (isGood) await followHints()
    if (isGood && !isClosing)
      await daemon.fillCopies().catch((cause: unknown) => {
        log('error', 'could not copy answers of the account server', { cause })
      })
    if (!isClosing)
      await daemon.reportWebhooks().catch((cause: unknown) => {
        log('error', 'could not report given-up webhooks', { cause })
      })
    return isGood
  }
  const schedule = newSyncSchedule(run, () => stream?.isOpen() === true)
  let stream: HintFollower | undefined
  /** Opens the stream of hints. It is loaded after the first sync, which no answer waits for. */
  async function followHints(): Promise<void> {
    const { newHintFollower } = await import('../device/sync/hint-follower.ts')
    stream ??= newHintFollower({
      account: () => (deviceSession.device() === null ? null : deviceSession.account()),
      onHint: () => schedule.hinted(),
      now: Date.now,
      log,
    })
    if (!isClosing) stream.start()
  }
  const listeners: Pick<Listening, 'close'>[] = []
  let flushing: NodeJS.Timeout | undefined
  let hasStarted = false
  let isClosing = false
  // At the other levels, the lines would not be written.
  const endStory = ['info', 'debug'].includes(config.logLevel) ? daemon.logStory() : () => undefined
  let endDesktop: () => void = () => undefined
  const close = async () => {
    schedule.stop()
    isClosing = true
    stream?.stop()
    daemon.endStreams()
    clearInterval(flushing)
    withdrawAnnouncement(config)
    await Promise.all(listeners.map((listener) => listener.close(GRACE_MS)))
    backend.stop()
    await deviceSession.device()?.sync.idle()
    endStory()
    endDesktop()
    if (hasStarted) audit.record(ofDaemon('stopped'))
    await daemon.close()
  }
  const enrolled = Promise.withResolvers<void>()
  // If no request waits, a rejection is not an error of its own.
  enrolled.promise.catch(() => undefined)
  const isNew = deviceSession.identity() === null && backend.enrol !== null
  const dispatch: Dispatch = isNew
    ? async (request) => {
        await enrolled.promise
        return daemon.dispatch(request)
      }
    : daemon.dispatch
  try {
    const opening = [
      backend.listen?.() ?? Promise.resolve(null),
      listenForApi(config, { ...daemon, dispatch }),
    ] as const
    for (const outcome of await Promise.allSettled(opening))
      if (outcome.status === 'fulfilled' && outcome.value !== null) listeners.push(outcome.value)
    const [forAccount, forApi] = await Promise.all(opening)
    // Only now, so that a start that cannot listen leaves no account in the folder.
    await daemon.enrol()
    enrolled.resolve()
    const accountAddress = forAccount?.address ?? null
    const { address, socket } = forApi
    const { pid } = process
    const { nonce } = daemon
    const stateVersion = STATE_VERSIONS.newest
    announce(config, { pid, address, socket, nonce, version: VERSION, stateVersion }, log)
    audit.record(ofDaemon('started'))
    hasStarted = true
    if (config.metrics.port !== null || config.metrics.token !== null)
      log('warn', 'SVC_METRICS_PORT and SVC_METRICS_TOKEN_FILE have no effect', {
        cause:
          'They are for "countersignd server". A daemon has its metrics at GET /metrics, with a token of scope read.',
      })
    log('info', 'listening', { address, socket, account_address: accountAddress, version: VERSION })
    daemon.onDue = (trigger) => schedule.soon(trigger)
    daemon.serving = () => ({
      api: address,
      socket,
      accountAddress,
      stream: deviceSession.device() === null ? null : (stream?.state() ?? null),
      nextSyncAt: schedule.nextAt(),
    })
    if (config.desktopNotify) endDesktop = await daemon.showOnDesktop()
    schedule.start()
    const addresses = [address, accountAddress].filter((one) => one !== null)
    await daemon.deliver(addresses.map((one) => Number(new URL(one).port)))
    flushing = setInterval(() => {
      try {
        daemon.flush()
      } catch (cause) {
        // Usually the disk is full. The times stay in memory, and the next run writes them.
        log('error', 'could not store when tokens were last used', { cause })
      }
    }, FLUSH_MS)
    const isSignedIn = deviceSession.identity() !== null || credentialsDir !== null
    return { address, socket, accountAddress, isSignedIn, nameQuestion: daemon.nameQuestion, close }
  } catch (error) {
    enrolled.reject(error)
    await close()
    throw error
  }
}

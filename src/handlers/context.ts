/** The context of a handler: the caller's account and, if the caller may use it, this device. */
import type { ReadDependencies } from '../api/readiness.ts'
import type { DoctorReport } from '../api/rest/doctor.ts'
import type { StreamState } from '../api/rest/status.ts'
import type { Account } from '../api/port.ts'
import type { Rest } from '../api/rest/index.ts'
import type { Answers } from '../api/route.ts'
import { isMachineToken } from '../auth/machines.ts'
import type { TokenLinks } from '../auth/token-links.ts'
import type { Caller, Tokens } from '../auth/tokens.ts'
import type { LocalDevice, DaemonFacts } from '../device/device.ts'
import type { Reachability } from '../device/sync/reachability.ts'
import type { DeviceSession } from '../device/session/session.ts'
import type { SignInFlow } from '../device/session/sign-in-flow.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { EventRows } from '../state/events.ts'
import { type Act, newAct } from '../storage/idempotency.ts'
import type { Ask, ToolCall } from '../api/tools/call.ts'
import type { Agents } from '../api/agents/index.ts'
import type { ConsoleTable } from '../api/console/index.ts'
import type { DocsTable } from '../api/docs/index.ts'
import type { ConsoleAccess } from '../auth/console/access.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

/** What handlers read from a request besides its input. */
interface RequestFacts {
  readonly token: string | null
  readonly accept: string
  readonly idempotencyKey?: string | undefined
  readonly header?: (name: string) => string | undefined
}

/** What a daemon that listens does. */
export interface Serving {
  /** The address of the API; null if it does not listen on TCP. */
  readonly api: string | null
  /** The path of the Unix socket of the API; null if there is none. */
  readonly socket: string | null
  /** The address of the embedded account server; null if the account server is remote. */
  readonly accountAddress: string | null
  /** The state of the stream of hints; null if the daemon keeps none. */
  readonly stream: StreamState | null
  /** When the next sync begins, Unix milliseconds; null while one runs. */
  readonly nextSyncAt: number | null
}

/** The daemon's parts that do not depend on the caller or the session. */
export interface Home extends DaemonFacts {
  readonly now: () => number
  /** The state folder, which has the audit log. */
  readonly stateDir: string
  readonly tokens: Tokens
  readonly tokenLinks: TokenLinks
  readonly deviceSession: DeviceSession
  readonly signIn: SignInFlow
  readonly reachability: Pick<Reachability, 'read'>
  /** Returns what this process does as a daemon; null if it does not listen. */
  readonly serving: () => Serving | null
  /** The events of this daemon. */
  readonly events: EventRows
  /** Returns the webhooks of this daemon. Their modules are loaded at the first call. */
  readonly webhooks: () => Promise<Webhooks>
  /** Whether this daemon has the console. */
  readonly hasConsole: boolean
  /** Returns the console's way in. Its modules are loaded at the first call. */
  readonly console: () => Promise<ConsoleAccess>
  /**
   * Returns the findings of `countersignd doctor` for this daemon.
   * @throws AppError shutting_down
   */
  readonly doctor: () => Promise<DoctorReport>
  /** Returns what this daemon depends on. */
  readonly readiness: ReadDependencies
  /** Aborted when the daemon stops, so that lasting answers end. */
  readonly stopping: AbortSignal
  readonly log: Log
  /** Calls another route with the credentials of a request. */
  readonly ask: (asked: RequestFacts, call: ToolCall) => ReturnType<Ask>
}

export interface HandlerContext {
  readonly home: Home
  /**
   * The account that the caller may use.
   *
   * It is the account of this device's session, or the machine account of the presented token.
   */
  readonly account: Account
  /**
   * This device. Null if the caller is a machine account, if there is no session, or while the
   * device waits for approval.
   */
  readonly device: LocalDevice | null
  /**
   * This device, for handlers that need it.
   * @throws AppError no_device or not_signed_in, with the reason
   */
  readonly local: LocalDevice
  /** The authenticated caller; null on a public route. */
  readonly caller: Caller | null
  /**
   * Whether a machine account's token was presented. Such a caller can access its own account, but
   * nothing of this daemon's owner.
   */
  readonly byMachine: boolean
  /** The media types that the caller accepts. */
  readonly accept: string
  /** Returns a header field of the request, by its lower-case name. */
  header(name: string): string | undefined
  /** Calls another route with this request's credentials and `Idempotency-Key`. */
  readonly ask: Ask
  /** Like `ask`, but without the `Idempotency-Key`, for requests that may call several routes. */
  readonly askAnew: Ask
  /**
   * The operation id. It is the same for a request and its repetitions with one `Idempotency-Key`.
   */
  readonly act: Act
  /** Returns the same context with another account. */
  withAccount(account: Account): HandlerContext
}

export type Handlers = Answers<Rest, 'daemon' | 'both', HandlerContext>

/**
 * Returns the error for a machine account's token if the request needs a device or the device's
 * owner.
 */
export const noDevice = () =>
  new AppError(
    'no_device',
    'A machine account’s token has no device here, and this request needs one. Use a token of this daemon.',
  )

const awaiting = () =>
  new AppError(
    'no_device',
    'This device waits for approval and may only read. Run "countersignd login" on it, and "countersignd device approve" ' +
      'on a device that is signed in.',
  )

/** Computes rarely used members at first use, because every request creates a context. */
class RequestContext implements HandlerContext {
  readonly home: Home
  readonly account: Account
  readonly device: LocalDevice | null
  readonly caller: Caller | null
  readonly byMachine: boolean
  readonly accept: string
  private readonly asked: RequestFacts
  private made: Act | null

  constructor(home: Home, caller: Caller | null, asked: RequestFacts, act: Act | null) {
    const { deviceSession } = home
    const account = caller?.machine ?? deviceSession.account()
    this.home = home
    this.caller = caller
    this.asked = asked
    this.byMachine = asked.token !== null && isMachineToken(asked.token)
    this.accept = asked.accept
    this.made = act
    this.device = this.byMachine ? null : deviceSession.device()
    this.account = (act === null ? null : account.acting?.(act)) ?? account
  }

  header(name: string): string | undefined {
    return this.asked.header?.(name)
  }

  get ask(): Ask {
    return (call) => this.home.ask(this.asked, call)
  }

  get askAnew(): Ask {
    const { idempotencyKey: _, ...asked } = this.asked
    return (call) => this.home.ask(asked, call)
  }

  get local(): LocalDevice {
    const { device } = this
    if (device !== null) return device
    if (this.byMachine) throw noDevice()
    const { deviceSession } = this.home
    throw deviceSession.identity() === null ? deviceSession.absent() : awaiting()
  }

  withAccount(account: Account): HandlerContext {
    return Object.create(this, { account: { value: account } }) as HandlerContext
  }

  get act(): Act {
    return (this.made ??= newAct(this.home.now()))
  }
}

/**
 * Returns the context of a request.
 * @param asked the request; on a public route its token is not checked
 * @param act the operation; null creates a new one, for a request that cannot be repeated
 */
export const contextOf = (
  home: Home,
  caller: Caller | null,
  asked: RequestFacts,
  act: Act | null,
): HandlerContext => new RequestContext(home, caller, asked, act)

/**
 * Returns the device that must store what a write changes; null for a machine account's caller.
 * @throws AppError not_signed_in, or no_device while this device waits for approval
 */
export const keeperOf = (context: HandlerContext): LocalDevice | null =>
  context.byMachine ? null : context.local

/**
 * Returns when the console that sends a request was opened, Unix milliseconds; null for any other
 * caller.
 * @throws AppError keychain_locked
 */
export function consoleSince({ caller, home }: HandlerContext): number | null {
  const token = caller?.token ?? null
  return token === null ? null : home.tokens.boundSince(token)
}

export type AgentHandlers = Answers<Agents, 'daemon', HandlerContext>

export type DocsHandlers = Answers<DocsTable, 'daemon', HandlerContext>

export type ConsoleHandlers = Answers<ConsoleTable, 'daemon', HandlerContext>

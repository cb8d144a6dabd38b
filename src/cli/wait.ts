/**
 * The option `--wait`: shows each step towards something that can be used, and ends when it can.
 *
 * Daemons do the work. While changes reach the daemon by a stream, this command only asks twice a
 * second when it last synced. Otherwise it also requests syncs.
 */
import { AppError, EXIT, type ErrorCode, StartError } from '../errors.ts'
import { type Api, type Invocation, UsageError } from './command.ts'
import { parseSeconds } from './option-fields.ts'
import { shown } from './table.ts'

const POLL_MS = 500
/**
 * After how many polls the command looks, even if no sync ended. A look asks the account server.
 */
const LOOK_EVERY = 10
/** How many polls pass before the first requested sync. Each following wait is twice as long. */
const SYNC_AFTER = 4
const LONGEST_SYNC_AFTER = 120

export const WAIT_OPTIONS = { wait: { type: 'boolean' }, timeout: { type: 'string' } } as const

/** What the option `--timeout` does, for the help of a command. */
export const TIMEOUT_HELP = 'with --wait: stop waiting after this time, such as 90s or 10m'

/**
 * Returns how long to wait, in milliseconds: Infinity without `--timeout`, null without `--wait`.
 * @throws UsageError
 */
export function patienceOf({ options }: Pick<Invocation, 'options'>): number | null {
  const { wait, timeout } = options
  if (wait === true)
    return timeout === undefined ? Infinity : 1000 * parseSeconds('timeout', String(timeout))
  if (timeout !== undefined) throw new UsageError('--timeout can only be used with --wait.')
  return null
}

/** What a look at the state found. */
export interface Look {
  /** The steps that were reached, as sentences. Each sentence is shown once. */
  readonly steps: readonly string[]
  /** The sentence of the last step; null until it is reached. */
  readonly usable: string | null
  /** Why the last step cannot be reached any more; null if it can. */
  readonly refusal: string | null
}

export interface WaitTerms {
  /** Whether the API is that of a running daemon. */
  readonly hasDaemon: boolean
  /** How long to wait, in milliseconds. */
  readonly patienceMs: number
}

interface Waiting extends WaitTerms {
  readonly look: () => Promise<Look>
  /** The command that shows the state later, such as `invite list`. */
  readonly later: string
  /** Returns the answer for `--json`, to which `usable` is added. */
  readonly answer: () => object
}

type End = 'usable' | 'refused' | 'late' | 'interrupted'

/** Errors that may be over at the next attempt. */
const TRANSIENT: readonly ErrorCode[] = [
  'backend_unavailable',
  'backend_timeout',
  'backend_error',
  'rate_limited',
]

/** Returns a function that shows each message once. */
function newSteps(say: Invocation['say']): (text: string) => void {
  const seen = new Set<string>()
  return (text) => {
    if (seen.has(text)) return
    seen.add(text)
    say(shown(text))
  }
}

/**
 * Returns a function that requests a sync if one is due, and no stream reports changes. It is
 * called at each poll.
 */
function newSyncing(api: Api, hasDaemon: boolean, say: (text: string) => void) {
  let wait = SYNC_AFTER
  let left = hasDaemon ? wait : 0
  return async (): Promise<void> => {
    if (left-- > 0) return
    left = wait
    wait = Math.min(2 * wait, LONGEST_SYNC_AFTER)
    if (hasDaemon) {
      const { stream } = await api.status.read({})
      if (stream?.state === 'open') return
      const why = stream?.reason ?? null
      say(
        `Changes do not reach the daemon at once, so this command requests syncs while it waits.${why === null ? '' : ` ${why}`}`,
      )
    }
    await api.sync.run({})
  }
}

/** Looks until nothing is left to wait for, or until `isOver`. */
async function poll(
  { say: sayText, pause }: Pick<Invocation, 'say' | 'pause'>,
  api: Api,
  { hasDaemon, patienceMs, look }: Waiting,
  isOver: () => boolean,
): Promise<{ end: End; refusal: string | null }> {
  const say = newSteps(sayText)
  const syncIfDue = newSyncing(api, hasDaemon, say)
  const until = performance.now() + patienceMs
  let syncedAt: string | undefined
  let isReached = false
  for (let polls = 0; ; polls++) {
    try {
      const { last_sync: last } = await api.sync.read({})
      const at = last?.finished_at ?? ''
      if (at !== syncedAt || polls % LOOK_EVERY === 0 || isReached) {
        const { steps, usable, refusal } = await look()
        syncedAt = at
        for (const step of steps) say(step)
        if (refusal !== null) return { end: 'refused', refusal }
        // The account server stores a change shortly before the device does.
        if (usable !== null && isReached) {
          say(usable)
          return { end: 'usable', refusal }
        }
        isReached = usable !== null
      }
      if (!isReached) await syncIfDue()
    } catch (error) {
      if (!(error instanceof AppError && TRANSIENT.includes(error.code))) throw error
      say(`${error.message} Still waiting.`)
    }
    if (isOver() || performance.now() >= until) return { end: 'late', refusal: null }
    await pause(POLL_MS)
  }
}

/** Returns the text for a wait that ended before the last step. */
const goesOn = (hasDaemon: boolean, later: string) =>
  hasDaemon
    ? `Everything goes on by itself, because the daemon is running. To look: "countersignd ${later}".`
    : `Nothing goes on by itself, because no daemon is running. Start it with "countersignd serve", or run "countersignd sync" later. To look: "countersignd ${later}".`

/**
 * Shows the steps until something can be used.
 * @returns the exit code
 * @throws AppError if it can never be used, or if the time is over; StartError if the daemon ends
 */
export async function waitUntilUsable(
  { say, pause, print, json, io }: Invocation,
  api: Api,
  of: Waiting,
): Promise<number> {
  const { hasDaemon, later, answer } = of
  say(
    hasDaemon
      ? 'Waiting until the words can be used. To stop waiting, press Ctrl-C: the daemon continues.'
      : 'No daemon is running, so nothing goes on by itself: this command syncs while it waits. Until it ends, no daemon can start. To stop waiting, press Ctrl-C.',
  )
  const { promise: interrupted, resolve } = Promise.withResolvers<void>()
  let isOver = false
  // A second signal ends the process at once.
  process.once('SIGINT', resolve)
  try {
    const { end, refusal } = await Promise.race([
      poll({ say, pause }, api, of, () => isOver),
      interrupted.then(() => ({ end: 'interrupted' as const, refusal: null })),
    ])
    if (json) print({ ...answer(), usable: end === 'usable' }, [])
    if (refusal !== null) throw new AppError('invalid_state', refusal)
    if (end === 'late')
      throw new AppError(
        'invalid_state',
        `Not usable yet, and the time of --timeout is over. ${goesOn(hasDaemon, later)}`,
      )
    if (end === 'usable') return EXIT.ok
    io.stderr.write(`Stopped waiting. ${goesOn(hasDaemon, later)}\n`)
    return EXIT.interrupted
  } catch (error) {
    if (!hasDaemon || error instanceof AppError) throw error
    throw new StartError(
      'daemonSilent',
      `The daemon ended, so this command cannot wait any longer. Everything goes on when a daemon is running again. To look: "countersignd ${later}".`,
      error,
    )
  } finally {
    isOver = true
    process.off('SIGINT', resolve)
  }
}

/**
 * Runs this device's first contacts by four words.
 *
 * While a first contact is open, the device polls the account server every second, for at most 15
 * minutes. After a restart it continues from the stored state.
 * @see protocol, section 3a
 */
import type { Account } from '../../api/port.ts'
import type { Log } from '../../log.ts'
import type { FirstContactRow } from '../../state/invitations.ts'
import type { DeviceContext } from '../context.ts'

/** The polling interval, in milliseconds. */
const EVERY_MS = 1000
/** How long the outcome of a first contact can be read, in milliseconds. */
const KEPT_MS = 24 * 3_600_000

export interface FirstContacts {
  /** Starts polling every second, until no first contact is open. */
  wake(): void
  /** Polls once, after a poll that is running. Never throws. */
  turn(): Promise<void>
  /**
   * Runs `work` while no poll runs, and returns its result. A step of an earlier first contact
   * would end a new one for the same invitation.
   */
  betweenPolls<T>(work: () => Promise<T>): Promise<T>
  /**
   * Resolves when the first contact for an invitation has ended, or after `withinMs` milliseconds.
   */
  ended(invitation: string, withinMs: number): Promise<void>
  /** Stops polling, and waits for a running poll. */
  close(): Promise<void>
}

export function newFirstContacts(of: {
  device: () => DeviceContext
  account: Account
  log: Log
}): FirstContacts {
  const { account, log } = of
  let closed = false
  let timer: NodeJS.Timeout | null = null
  /** The last poll, or work between polls. */
  let running: Promise<unknown> = Promise.resolve()
  const waiting = new Set<() => void>()

  async function step(row: FirstContactRow, find: () => Promise<Found>): Promise<void> {
    const device = of.device()
    const now = device.now()
    if (now >= row.until || now < row.started_at) {
      const { ending } = await import('./secrets.ts')
      ending(device, row)('words_expired')
      if (row.role === 'inviter')
        await account.deviceFirstContacts.end({ invitation: row.invitation })
      return
    }
    const run = (await find()).get(row.invitation)
    const same = run?.sid === row.sid ? run : null
    if (row.role === 'inviter') {
      const { inviterStep } = await import('./inviter.ts')
      return inviterStep(device, account, row, same)
    }
    const { inviteeStep } = await import('./invitee.ts')
    return inviteeStep(device, account, row, same)
  }

  type Found = ReadonlyMap<string, Awaited<ReturnType<typeof listed>>[number]>
  const listed = async () => (await account.deviceFirstContacts.list({})).items

  async function ask(): Promise<void> {
    const { state, now } = of.device()
    state.firstContacts.dropEnded(now() - KEPT_MS)
    let asked: Promise<Found> | null = null
    const find = () =>
      (asked ??= listed().then((items) => new Map(items.map((run) => [run.invitation, run]))))
    for (const row of state.firstContacts.running())
      try {
        await step(row, find)
      } catch (cause) {
        log('info', 'first contact not advanced', { invitation: row.invitation, cause })
      }
  }

  function betweenPolls<T>(work: () => Promise<T>): Promise<T> {
    const result = running.then(work)
    running = result.catch(() => undefined)
    return result
  }

  const turn = () =>
    betweenPolls(async () => {
      if (closed) return
      try {
        await ask()
      } catch (cause) {
        log('error', 'first contacts not read', { cause })
      }
      for (const check of waiting) check()
    })

  const isOpen = () => !closed && of.device().state.firstContacts.running().length > 0

  function plan(): void {
    if (timer !== null || !isOpen()) return
    timer = setTimeout(() => {
      void turn().then(() => {
        timer = null
        plan()
      })
    }, EVERY_MS)
    // A caller that waits for the outcome keeps the process running, so the timer need not.
    timer.unref()
  }

  return {
    wake: plan,
    turn,
    betweenPolls,
    ended: (invitation, withinMs) =>
      new Promise((resolve) => {
        const hasEnded = () => {
          const state = of.device().state.firstContacts.get(invitation)?.state
          return closed || (state !== 'open' && state !== 'answered')
        }
        const done = () => {
          clearTimeout(patience)
          waiting.delete(check)
          resolve()
        }
        const check = () => {
          if (hasEnded()) done()
        }
        const patience = setTimeout(done, withinMs)
        waiting.add(check)
        check()
      }),
    async close() {
      closed = true
      if (timer !== null) clearTimeout(timer)
      for (const check of waiting) check()
      await running
    },
  }
}

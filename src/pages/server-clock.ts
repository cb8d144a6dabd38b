/**
 * The server's time, as the page knows it: what the document said, carried on by the monotonic
 * clock. The device's own clock is only a witness. Where the two part, the device slept or its
 * clock was set, and the server is asked again.
 */

/** Further off than this, the words of a device that goes by its own clock would not be accepted. */
export const TOLERANCE_MS = 30_000
const DRIFT_MS = 2_000

export type ServerClock = {
  /** Unix milliseconds by the server's clock. */
  now: () => number
  /** By how much the device's clock is ahead of it, in milliseconds; negative: behind. */
  ahead: () => number
  /** Asks the server again if the two clocks of the device parted. Never throws. */
  settle: () => Promise<void>
}

/** A clock from the server's time at the making of the document, in Unix milliseconds. */
export function serverClock(documentMs: number): ServerClock {
  let base = documentMs + documentAge()
  let monotonic = performance.now()
  let wall = Date.now()
  let asking: Promise<void> | null = null

  const passed = () => performance.now() - monotonic
  const set = (unixMs: number) => {
    base = unixMs
    monotonic = performance.now()
    wall = Date.now()
  }
  const ask = async () => {
    const answered = await serverTime()
    // Unasked, sleep is likelier than somebody setting the clock, and the wall clock counts sleep.
    set(answered ?? base + (Date.now() - wall))
    asking = null
  }

  return {
    now: () => base + passed(),
    ahead: () => Date.now() - (base + passed()),
    settle: async () => {
      if (Math.abs(Date.now() - wall - passed()) > DRIFT_MS) asking ??= ask()
      await asking
    },
  }
}

/** Milliseconds since the document began to arrive: a slow line must not shift the minute. */
function documentAge(): number {
  const [entry] = performance.getEntriesByType('navigation')
  const arrived = entry instanceof PerformanceNavigationTiming ? entry.responseStart : 0
  return arrived > 0 ? Math.max(0, performance.now() - arrived) : 0
}

async function serverTime(): Promise<number | null> {
  try {
    const { headers } = await fetch('/health', { cache: 'no-store', credentials: 'omit' })
    const date = Date.parse(headers.get('date') ?? '')
    // The header counts whole seconds.
    return Number.isNaN(date) ? null : date + 500
  } catch {
    return null
  }
}

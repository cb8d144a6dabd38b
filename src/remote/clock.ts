/**
 * The server's clock as its answers show it. A device whose clock is wrong signs in all the same: its proofs carry the
 * server's time.
 */

export interface ServerClock {
  /** The server's time in Unix milliseconds; this machine's before anything was measured. */
  now(): number
  /** The server's clock minus this machine's in milliseconds, good to half a second; null before it was measured. */
  offsetMs(): number | null
  /** Learn from the Date of an answer. `sentAt` and `answeredAt` are Unix milliseconds of the clock here. */
  observe(date: string | undefined, sentAt: number, answeredAt: number): void
}

/** RFC 9110 section 5.6.7: the one form that senders write. */
const IMF_FIXDATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** @param now this machine's clock, in Unix milliseconds */
export function newServerClock(now: () => number): ServerClock {
  /** The offset lies in here. */
  let range: readonly [low: number, high: number] | null = null

  const offsetMs = () => (range === null ? null : Math.round((range[0] + range[1]) / 2))
  return {
    now: () => Math.max(0, now() + (offsetMs() ?? 0)),
    offsetMs,
    observe(date, sentAt, answeredAt) {
      const at = IMF_FIXDATE.test(date ?? '') ? Date.parse(date as string) : NaN
      if (Number.isNaN(at) || answeredAt < sentAt) return
      // The second began at or before the moment of writing, which lies between question and answer.
      const [low, high] = [at - answeredAt, at + 999 - sentAt]
      const [least, most] = range ?? [low, high]
      // Each answer narrows the range; one outside it says that a clock was set.
      const both = [Math.max(low, least), Math.min(high, most)] as const
      range = both[0] <= both[1] ? both : [low, high]
    },
  }
}

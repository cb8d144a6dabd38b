/**
 * Measures the server's clock by its answers. A device with a wrong clock can still sign in,
 * because its proofs carry the server's time.
 */

export interface ServerClock {
  /**
   * Returns the server's time in Unix milliseconds; this machine's time before the first
   * measurement.
   */
  now(): number
  /**
   * Returns the server's clock minus this machine's in milliseconds, accurate to half a second;
   * null before the first measurement.
   */
  offsetMs(): number | null
  /**
   * Measures the clock by the Date of an answer. `sentAt` and `answeredAt` are Unix milliseconds
   * of this machine's clock.
   */
  observe(date: string | undefined, sentAt: number, answeredAt: number): void
}

/** RFC 9110 section 5.6.7: the only format that senders generate. */
const IMF_FIXDATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Creates a clock without measurements.
 * @param now this machine's clock, in Unix milliseconds
 */
export function newServerClock(now: () => number): ServerClock {
  /** The limits of the offset, in milliseconds. */
  let range: readonly [low: number, high: number] | null = null

  const offsetMs = () => (range === null ? null : Math.round((range[0] + range[1]) / 2))
  return {
    now: () => Math.max(0, now() + (offsetMs() ?? 0)),
    offsetMs,
    observe(date, sentAt, answeredAt) {
      const at = IMF_FIXDATE.test(date ?? '') ? Date.parse(date as string) : NaN
      if (Number.isNaN(at) || answeredAt < sentAt) return
      // The second of the Date began at or before the time of writing, which lies between request
      // and answer.
      const [low, high] = [at - answeredAt, at + 999 - sentAt]
      const [least, most] = range ?? [low, high]
      // Each answer narrows the range; an offset outside it means that a clock was set.
      const both = [Math.max(low, least), Math.min(high, most)] as const
      range = both[0] <= both[1] ? both : [low, high]
    },
  }
}

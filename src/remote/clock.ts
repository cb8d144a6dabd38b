/**
 * Measures the server's clock from its answers. Proofs carry the server's time, so a device with a
 * wrong clock can still sign in.
 */

export interface ServerClock {
  /**
   * Returns the server's time in Unix milliseconds. Before the first measurement it returns this
   * machine's time.
   */
  now(): number
  /**
   * Returns the server's clock minus this machine's in milliseconds, accurate to half a second;
   * null before the first measurement.
   */
  offsetMs(): number | null
  /**
   * Measures the clock from the Date header of an answer. `sentAt` and `answeredAt` are Unix
   * milliseconds of this machine's clock.
   */
  observe(date: string | undefined, sentAt: number, answeredAt: number): void
}

/** RFC 9110 section 5.6.7: the only date format that senders may generate. */
const IMF_FIXDATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Creates a clock without measurements.
 * @param now this machine's clock, in Unix milliseconds
 */
export function newServerClock(now: () => number): ServerClock {
  /** The lowest and highest possible offset, in milliseconds; null before the first measurement. */
  let range: readonly [low: number, high: number] | null = null

  const offsetMs = () => (range === null ? null : Math.round((range[0] + range[1]) / 2))
  return {
    now: () => Math.max(0, now() + (offsetMs() ?? 0)),
    offsetMs,
    observe(date, sentAt, answeredAt) {
      const at = IMF_FIXDATE.test(date ?? '') ? Date.parse(date as string) : NaN
      if (Number.isNaN(at) || answeredAt < sentAt) return
      // The server wrote the Date between the request and the answer. It names the second in which
      // the server wrote it, so the exact time is up to 999 ms later.
      const [low, high] = [at - answeredAt, at + 999 - sentAt]
      const [least, most] = range ?? [low, high]
      // Each answer narrows the range; an offset outside it means that a clock was set.
      const both = [Math.max(low, least), Math.min(high, most)] as const
      range = both[0] <= both[1] ? both : [low, high]
    },
  }
}

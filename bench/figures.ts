/** Computes and prints the figures of a run. */

/** Returns the value that a share of the values, from 0 to below 1, are below. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] as number

export const median = (values: readonly number[]): number => quantile(values, 0.5)

export const say = (text: string): unknown => process.stdout.write(`${text}\n`)

/** Returns how long the work takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

/** Prints the median of ratios of processor time, and all of them. */
export function report(what: string, values: readonly number[]): void {
  const all = values.map((value) => value.toFixed(2)).join(' ')
  say(`CPU of ${what}: ${median(values).toFixed(2)}  (${all})`)
}

/** Returns the longest delay, in milliseconds, of a timer of one millisecond during the work. */
export async function stalled(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = performance.now()
  const probe = setInterval(() => {
    const at = performance.now()
    longest = Math.max(longest, at - last - 1)
    last = at
  }, 1)
  await work()
  clearInterval(probe)
  return longest
}

/**
 * Returns the longest time of this thread on the processor without a turn of the event loop. In
 * milliseconds, measured during the work. Unlike a stall it does not count the time of other
 * programs.
 */
export async function busiest(work: () => Promise<unknown>): Promise<number> {
  const usedUs = () => {
    const { user, system } = process.threadCpuUsage()
    return user + system
  }
  let longest = 0
  let last = usedUs()
  let isOver = false
  const probe = (): void => {
    const used = usedUs()
    longest = Math.max(longest, used - last)
    last = used
    if (!isOver) setImmediate(probe)
  }
  setImmediate(probe)
  await work()
  isOver = true
  return longest / 1000
}

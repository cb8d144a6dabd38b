/** Figures of a run, as they are told. */

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

export const say = (text: string): unknown => process.stdout.write(`${text}\n`)

/** The longest time, in milliseconds, by which a timer of one millisecond was late meanwhile. */
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

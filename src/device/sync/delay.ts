/** Calls `act` after `ms` milliseconds. Returns a function that cancels the call. */
export const afterMs = (ms: number, act: () => void): (() => void) => {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

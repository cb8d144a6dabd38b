/** How far the account server's clock is from this device's: what is signed and what is verified here rests on it. */
import type { Door } from '../api/port.ts'

/** Where the account server is in this process, there is one clock. */
export type ServerClock = Door['clock'] | 'own'

/**
 * Measure the server's clock minus this one's, in whole milliseconds. The answer is taken to have been written half way
 * through the round trip (RFC 5905 section 8), so it is wrong by half of that at most.
 * @param now Unix milliseconds
 * @throws AppError as the clock's row does
 */
export async function measureOffset(clock: Door['clock'], now: () => number): Promise<number> {
  const sent = now()
  const answer = await clock.read({})
  const received = now()
  return Math.round(Date.parse(answer.now) - (sent + received) / 2)
}

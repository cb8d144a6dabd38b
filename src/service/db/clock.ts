/**
 * Returns the server's time, by which devices measure their clock offset, and the base URL of
 * links.
 */
import { timeAt } from '../../api/fields.ts'
import type { Open } from '../../api/port.ts'

export const clock = ({
  now,
  publicUrl,
}: {
  now: () => number
  publicUrl: () => string
}): Open['clock'] => ({
  read: async () => ({ now: timeAt(now()), public_url: publicUrl() }),
})

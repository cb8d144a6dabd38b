/**
 * Fetches the signed names of inviters that this device does not have yet.
 *
 * Without a signed name, an invitation shows a name that only the account server claims. An inviter
 * without a signed name is looked up again after 15 minutes. A name that a sync stores meanwhile is
 * used.
 */
import type { Account } from '../../api/port.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { newQueue } from '../in-order.ts'
import type { Remembering } from '../logs/key-log.ts'

/** The maximum number of names fetched for one response. The next response fetches more. */
const MOST = 20
/** The maximum number of concurrent requests, for all responses together. */
const AT_ONCE = 4
/** How long an inviter is treated as one without a signed name, in milliseconds. */
const AGAIN_MS = 15 * 60_000

export interface InviterNames {
  /**
   * Fetches the names of accounts and waits for them.
   *
   * If that fails there is no signed name, and a response marks the name as the account server's.
   */
  fetch(account: Account, ids: readonly string[]): Promise<void>
}

export function newInviterNames(of: {
  device: () => Remembering
  now: () => number
}): InviterNames {
  /** The look-ups of the last 15 minutes by account, including running ones. */
  const asked = new Map<string, { readonly at: number; readonly end: Promise<void> }>()
  const lanes = Array.from({ length: AT_ONCE }, () => newQueue())
  let count = 0

  async function lookUp(account: Account, id: string): Promise<void> {
    const { pullKeyLog } = await import('../logs/key-log.ts')
    try {
      await pullKeyLog(of.device(), account, id)
    } catch (error) {
      if (error instanceof Refusal) return
      // The request failed, so it is unknown whether there is a name.
      asked.delete(id)
      if (!(error instanceof AppError)) throw error
    }
  }

  return {
    async fetch(account, ids) {
      const { profiles } = of.device().state
      const now = of.now()
      for (const [id, { at }] of asked) if (Math.abs(now - at) >= AGAIN_MS) asked.delete(id)
      const unknown = [...new Set(ids)].filter((id) => profiles.get(id) === null)
      for (const id of unknown.filter((one) => !asked.has(one)).slice(0, MOST)) {
        const lane = lanes[count++ % AT_ONCE]!
        asked.set(id, { at: now, end: lane(() => lookUp(account, id)) })
      }
      await Promise.all(unknown.flatMap((id) => asked.get(id)?.end ?? []))
    },
  }
}

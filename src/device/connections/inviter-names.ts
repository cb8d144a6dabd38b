/**
 * Fetches the signed names of inviters of whom none is known here, so that an invitation is not shown
 * under a name that the account server alone says. An inviter without a signed name is asked for
 * again after 15 minutes; one that a sync brings meanwhile is known.
 */
import type { Account } from '../../api/port.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { newTurns } from '../in-order.ts'
import type { Remembering } from '../logs/key-log.ts'

/** The most that are fetched for one answer; the next answer fetches others. */
const MOST = 20
/** The most requests at a time, of all answers together. */
const AT_ONCE = 4
/** How long an inviter counts as one without a signed name, in milliseconds. */
const AGAIN_MS = 15 * 60_000

export interface InviterNames {
  /**
   * Fetches the names of accounts, and waits for them. Where that fails there is none, and an answer
   * says that the name is the account server's.
   */
  fetch(account: Account, ids: readonly string[]): Promise<void>
}

export function newInviterNames(of: {
  device: () => Remembering
  now: () => number
}): InviterNames {
  /** Look-ups of the last 15 minutes, also those under way, by account. */
  const asked = new Map<string, { readonly at: number; readonly end: Promise<void> }>()
  const lanes = Array.from({ length: AT_ONCE }, () => newTurns())
  let count = 0

  async function lookUp(account: Account, id: string): Promise<void> {
    const { pullKeyLog } = await import('../logs/key-log.ts')
    try {
      await pullKeyLog(of.device(), account, id)
    } catch (error) {
      if (error instanceof Refusal) return
      // The request failed, so nothing is known of the name.
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

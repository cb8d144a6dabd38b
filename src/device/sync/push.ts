/**
 * Uploads the verification log, and the stamps that were signed while the server was unavailable.
 *
 * A stamp that the server rejects permanently does not block the other stamps. It is kept, because
 * it can be verified without a receipt.
 */
import type { Account } from '../../api/port.ts'
import type { SyncReport } from '../../api/rest/sync.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import type { Identity } from '../identity/identity.ts'
import { complain } from './pull.ts'

const BATCH = 500
/** Key in `meta`: ids of stamps that the server rejected. Later syncs do not send them again. */
const REFUSED = 'refused_stamps'
/**
 * Codes about the stamp itself, which each sync would get again.
 *
 * The stamp was already handed out, so it cannot be signed again.
 */
const FOR_GOOD: readonly ErrorCode[] = ['conflict', 'validation_failed', 'payload_too_large']
/** The maximum number of stamp ids in the message. */
const MOST_TOLD = 5

/** Creates the uploading part of a sync. */
export function newPush(of: { state: State; account: Account; identity: Identity }) {
  const { state, account, identity } = of

  async function verifications(report: SyncReport): Promise<void> {
    for (;;) {
      const items = state.verifications.unpushed(BATCH)
      if (items.length === 0) return
      await account.verifications.push({ body: { items } })
      state.verifications.markPushed(items.map(({ id }) => id))
      report.pushed.verifications += items.length
    }
  }

  /**
   * Fetches the receipt of a stamp.
   * @returns false if the server rejects the stamp permanently
   * @throws failures that do not concern the stamp itself
   */
  async function register(id: string, stamp: string): Promise<boolean> {
    try {
      const { receipt } = await account.stamps.create({ body: { stamp } })
      // Imported only if there is something to verify, because it loads the elliptic curve code.
      const { requireReceipt } = await import('../identity/receipts.ts')
      requireReceipt(receipt, { id, jws: stamp }, identity.receiptKey)
      state.stamps.setReceipt(id, receipt)
      return true
    } catch (error) {
      if (error instanceof AppError && FOR_GOOD.includes(error.code)) return false
      throw error
    }
  }

  async function stamps(report: SyncReport): Promise<void> {
    const before = (state.meta.get(REFUSED) ?? []) as readonly string[]
    const refused = new Set(before)
    try {
      for (;;) {
        const page = state.stamps.withoutReceipt(BATCH + refused.size)
        const waiting = page.filter(({ id }) => !refused.has(id))
        if (waiting.length === 0) return
        for (const { id, jws } of waiting) if (!(await register(id, jws))) refused.add(id)
      }
    } finally {
      // Rejections that were received before a failed connection are kept too.
      const fresh = [...refused].slice(before.length)
      if (fresh.length > 0) {
        state.meta.set(REFUSED, [...refused])
        complain(report, refusal(fresh))
      }
    }
  }

  return { verifications, stamps }
}

function refusal(ids: readonly string[]): string {
  const [what, they] = ids.length === 1 ? ['a stamp', 'It'] : [`${ids.length} stamps`, 'They']
  const listed = ids.slice(0, MOST_TOLD).join(', ') + (ids.length > MOST_TOLD ? ', …' : '')
  return `The account server refused ${what} (${listed}). ${they} can be checked offline, but without a receipt and without a page at the server.`
}

import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { lastPlace } from '../../crypto/logs/chain.ts'
import { hashOf } from '../../crypto/jose/jws.ts'
import { type KeyLog, type KnownLog, verifyKeyLog } from '../../crypto/logs/key-log.ts'
import { type KeyLogs, accountsOf } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'

/** The entries of a key log, and what is known of them; undefined for none. */
export interface RememberedEntries {
  readonly entries: readonly string[]
  readonly known: KnownLog | undefined
}

/** The entries of the key log of an account as they are remembered. */
export function rememberedEntries(
  { logs }: Pick<State, 'logs'>,
  account: string,
): RememberedEntries {
  const stored = logs.keyLog(account)
  const entries = stored.map(({ entry }) => entry)
  const vouchers = new Map<string, string>()
  for (const { entry, voucher } of stored)
    if (voucher !== null) vouchers.set(encodeBase64url(hashOf(entry)), voucher)
  const last = lastPlace(entries)
  return { entries, known: last && { ...last, vouchers } }
}

/** The key log of an account; null when none is remembered. */
export function rememberedLog(state: Pick<State, 'logs'>, account: string): KeyLog | null {
  const { entries, known } = rememberedEntries(state, account)
  return known === undefined ? null : verifyKeyLog(account, entries, known)
}

/** The key logs of the accounts that entries name, those that are remembered. */
export function rememberedKeyLogs(state: State, entries: readonly string[]): KeyLogs {
  const keyLogs = new Map<string, KeyLog>()
  for (const id of accountsOf(entries)) {
    const log = rememberedLog(state, id)
    if (log !== null) keyLogs.set(id, log)
  }
  return keyLogs
}

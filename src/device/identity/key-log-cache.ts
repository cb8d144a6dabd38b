import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { lastPlace } from '../../crypto/logs/chain.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { type KeyLog, type KnownLog, verifyKeyLog } from '../../crypto/logs/key-log.ts'
import { type KeyLogs, accountsInRoster } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'

/** The stored entries of a key log, and up to where they and their vouchers were verified. */
interface RememberedEntries {
  readonly entries: readonly string[]
  readonly known: KnownLog | undefined
}

/** Returns the stored entries of an account's key log; `known` is undefined if there are none. */
export function rememberedEntries(
  { logs }: Pick<State, 'logs'>,
  account: string,
): RememberedEntries {
  const stored = logs.keyLog(account)
  const entries = stored.map(({ entry }) => entry)
  const vouchers = new Map<string, string>()
  for (const { entry, voucher } of stored)
    if (voucher !== null) vouchers.set(encodeBase64url(entryHash(entry)), voucher)
  const last = lastPlace(entries)
  return { entries, known: last && { ...last, vouchers } }
}

/** Returns an account's stored key log; null if there is none. */
export function rememberedLog(state: Pick<State, 'logs'>, account: string): KeyLog | null {
  const { entries, known } = rememberedEntries(state, account)
  return known === undefined ? null : verifyKeyLog(account, entries, known)
}

/** Returns the stored key logs of the accounts that the entries name. */
export function rememberedKeyLogs(state: State, entries: readonly string[]): KeyLogs {
  const keyLogs = new Map<string, KeyLog>()
  for (const id of accountsInRoster(entries)) {
    const log = rememberedLog(state, id)
    if (log !== null) keyLogs.set(id, log)
  }
  return keyLogs
}

/**
 * The key log of an account (section 3): its current and former devices, and its recovery key.
 *
 * Any verifier can compute the result from the entries alone. A log that breaks a rule is rejected
 * as a whole. The time `at` of an entry has no effect.
 */
import { type LoggedKeys, sameKeys } from '../device-public-keys.ts'
import { Refusal, requireThat } from '../refusal.ts'
import { follow, type KnownPlace, runToEnd } from './chain.ts'
import { type Generations, keyInForce, type Vouchers } from './generations.ts'
import { type KeyLogEntry, readKeyLogEntry, readVerified } from './key-log-form.ts'
import { applyKeyLogEntry, type KeyLogState, type LoggedDevice } from './key-log-ops.ts'

export type KeyLog = {
  account: string
  /** The seq and the hash (32 bytes) of the last entry. */
  seq: number
  head: Uint8Array
  /** The hash of every entry; the index is the entry's seq. */
  heads: readonly Uint8Array[]
  /** The number of the newest generation: 1, plus one for each reset. */
  generation: number
  generations: Generations
  /** The vouchers of all resets that have a `recovery_sig`. */
  vouchers: Vouchers
  /** The active recovery key as the `x` of its JWK, or null. */
  recovery: string | null
  /** The entries as received. */
  entries: readonly string[]
  /** Every device that occurred in the log, by id, in the order of addition. */
  devices: ReadonlyMap<string, LoggedDevice>
  /** The devices that are not revoked, in the order of addition. */
  active: readonly LoggedDevice[]
}

/**
 * The newest place that was verified earlier.
 *
 * `vouchers` are the recovery keys that were found then, as a `KeyLog` contains them. With them,
 * the keys need not be searched for again.
 */
export type KnownLog = KnownPlace & { readonly vouchers?: Vouchers }

/**
 * Verifies the key log of an account.
 *
 * Every rule is checked for every entry. Only the signatures of entries up to `known` are not
 * verified again (see `follow`).
 * @param entries the JWSs in order
 * @param known the newest place that was verified earlier, by this device or in a database that
 * contains only verified entries
 * @throws Refusal for the first broken rule: as `parseJws`, `payload` and `follow` (`too_large`,
 * `key_log_forked`, `gap`, `rollback` …), `bad_op`, `log_full`, `wrong_account`,
 * `seq0_not_self_signed`, `reset_not_self_signed`, `unknown_signer`, `revoked_signer`,
 * `kid_mismatch`, `bad_signature`, `account_mismatch`, `renew_not_self_signed`,
 * `missing_recovery_sig`, `bad_recovery_sig`, `duplicate_device`, `duplicate_key`,
 * `unknown_device`, `already_revoked`
 */
export const verifyKeyLog = (
  account: string,
  entries: readonly string[],
  known?: KnownLog,
): KeyLog => runToEnd(verifyingKeyLog(account, entries, known))

/**
 * Like `verifyKeyLog`, but yields after each entry and each recovery key that was tried.
 *
 * The verification of an unknown log can take minutes, so the caller can let other work run.
 */
export function* verifyingKeyLog(
  account: string,
  entries: readonly string[],
  known?: KnownLog,
): Generator<void, KeyLog, void> {
  const read = (text: string, proven: boolean): KeyLogEntry => {
    const entry = proven ? readVerified(text) : readKeyLogEntry(text)
    requireThat(entry.account === account, 'wrong_account', 'the entry belongs to another account')
    return entry
  }
  const apply = (
    before: KeyLogState | undefined,
    entry: KeyLogEntry,
    hash: Uint8Array,
    proven: boolean,
  ) => applyKeyLogEntry(before, entry, hash, { proven, vouchers: known?.vouchers })
  const rules = { read, apply, forked: 'key_log_forked' } as const
  const { state, heads } = yield* follow<KeyLogEntry, KeyLogState>(entries, rules, known)
  const { devices, generations, vouchers } = state
  return {
    account,
    seq: heads.length - 1,
    head: heads.at(-1)!,
    heads,
    generation: generations.length,
    generations,
    vouchers,
    recovery: keyInForce(generations),
    entries,
    devices,
    active: [...devices.values()].filter((device) => device.revokedAt === null),
  }
}

/**
 * Returns the entry that named the active recovery key, and the device that signed the entry.
 *
 * The entry is in the newest generation. Null if no key is active, or if the active key is the one
 * that signed the reset of the newest generation.
 */
export function recoveryEntry({
  entries,
  generations,
  recovery,
}: KeyLog): { readonly by: string; readonly jws: string } | null {
  if (recovery === null) return null
  const own = entries.slice(generations.at(-1)!.root)
  const jws = own.findLast((entry) => readVerified(entry).op === 'recovery')
  return jws === undefined ? null : { by: readVerified(jws).by, jws }
}

/** Returns the number of the generation at entry `seq`: 1, plus one for each reset up to it. */
export function generationAt({ generations }: Pick<KeyLog, 'generations'>, seq: number): number {
  return generations.findLastIndex(({ root }) => root <= seq) + 1
}

/**
 * Returns the root of a generation: the seq and the hash (32 bytes) of its first entry.
 *
 * Every later entry of the generation depends on the root.
 */
export function generationRoot(
  { generations, heads }: Pick<KeyLog, 'generations' | 'heads'>,
  generation: number,
): { seq: number; hash: Uint8Array } {
  const found = generations[generation - 1]
  if (found === undefined) throw new Error(`the log has no generation ${generation}`)
  return { seq: found.root, hash: heads[found.root]! }
}

/**
 * Returns the longer of two lists of entries of one key log, given and stored.
 *
 * The stored list thus completes a given list that ends before a revocation.
 * @throws Refusal `key_log_forked` if the lists contradict each other, and as `verifyKeyLog` if
 * `given` breaks a rule by itself
 */
export function completeLog(
  account: string,
  given: readonly string[],
  remembered: readonly string[],
): readonly string[] {
  const other = given.findIndex((jws, seq) => seq < remembered.length && jws !== remembered[seq])
  if (other !== -1) {
    verifyKeyLog(account, given)
    const message = `entry ${other} differs from the stored entry`
    throw new Refusal('key_log_forked', message, { entry: other })
  }
  return given.length < remembered.length ? remembered : given
}

/**
 * Checks, on a device that requested approval, that the device was added to the log (section 3).
 * @param log the verified key log, which must continue the log that the approving device saw
 * @param seen the seq of the newest entry in the approving device's answer
 * @returns the device, as the log names it
 * @throws Refusal `not_in_log`, `own_keys_differ`, `added_before`, `generation_changed`,
 * `not_active`
 */
export function checkOwnEntry(
  log: KeyLog,
  own: { readonly device: string; readonly keys: LoggedKeys },
  seen: number,
): LoggedDevice {
  const found = log.devices.get(own.device)
  requireThat(found !== undefined, 'not_in_log', 'the key log does not name this device')
  requireThat(
    sameKeys(found.keys, own.keys),
    'own_keys_differ',
    'the key log names other keys for this device',
  )
  requireThat(
    found.addedAt > seen,
    'added_before',
    'the device was added to the key log before its approval began',
  )
  // An entry after `seen` that adds a device in the same generation is an `add`, not a reset.
  const same = found.generation === generationAt(log, seen)
  requireThat(
    same,
    'generation_changed',
    'the account was reset after the approval began, and before the device was added',
  )
  requireThat(found.revokedAt === null, 'not_active', 'the device is already revoked')
  return found
}

/**
 * The key log of an account (section 3): its present and past devices, and its recovery key. Any
 * verifier can recompute it from the entries alone; a log that breaks a rule is rejected whole.
 * `at` decides nothing.
 */
import { type LoggedKeys, sameKeys } from '../device-public-keys.ts'
import { Refusal, requireThat } from '../refusal.ts'
import { follow, type KnownPlace, runToEnd } from './chain.ts'
import { type Generations, keyInForce, type Vouchers } from './generations.ts'
import { type KeyLogEntry, readKeyLogEntry, readVerified } from './key-log-form.ts'
import { applyKeyLogEntry, type KeyLogState, type LoggedDevice } from './key-log-ops.ts'

export type KeyLog = {
  account: string
  /** The last entry and its hash, 32 bytes. */
  seq: number
  head: Uint8Array
  /** The hash of every entry, by seq. */
  heads: readonly Uint8Array[]
  /** 1, and one more for each reset. */
  generation: number
  generations: Generations
  /** Of each reset with a `recovery_sig`. */
  vouchers: Vouchers
  /** The recovery key in force: `x` of its JWK, or null. */
  recovery: string | null
  /** As received. */
  entries: readonly string[]
  /** Every device that the log ever named, by id, in order of addition. */
  devices: ReadonlyMap<string, LoggedDevice>
  /** The unrevoked ones, in order of addition. */
  active: readonly LoggedDevice[]
}

/**
 * The highest place verified before. `vouchers` saves the search for the recovery keys found
 * then; a `KeyLog` has them.
 */
export type KnownLog = KnownPlace & { readonly vouchers?: Vouchers }

/**
 * Verifies the log of `account`. `entries` are the JWSs in order; `known` is the highest place
 * that was verified before, by this device or in a database that holds only verified entries.
 * Every rule is checked for every entry, but no signature of an entry up to `known` (see
 * `follow`).
 * @throws Refusal for the first rule broken: those of `parseJws`, of payloads, of the chain
 *   (`too_large`, `key_log_forked`, `gap`, `rollback` …), `bad_op`, `log_full`, `wrong_account`,
 *   `seq0_not_self_signed`, `reset_not_self_signed`, `unknown_signer`, `revoked_signer`,
 *   `kid_mismatch`, `bad_signature`, `account_mismatch`, `renew_not_self_signed`,
 *   `missing_recovery_sig`, `bad_recovery_sig`, `duplicate_device`, `duplicate_key`,
 *   `unknown_device`, `already_revoked`
 */
export const verifyKeyLog = (
  account: string,
  entries: readonly string[],
  known?: KnownLog,
): KeyLog => runToEnd(verifyingKeyLog(account, entries, known))

/**
 * Like `verifyKeyLog`, but yields after each entry and each recovery key tried. A log of unknown
 * entries may take minutes, and the caller can let other work run meanwhile.
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
 * Returns the entry that named the recovery key in force, and the device that signed it. The
 * entry is in the newest generation. Null if no key is in force, or if the key in force is the
 * one that linked the generation.
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

/**
 * Returns the generation of a log as of its entry `seq`: 1, and one more for each reset until
 * then.
 */
export function generationAt({ generations }: Pick<KeyLog, 'generations'>, seq: number): number {
  return generations.findLastIndex(({ root }) => root <= seq) + 1
}

/**
 * Returns the root of a generation: the number of its first entry, and the hash of that entry, 32
 * bytes. Every later entry of the generation rests on it.
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
 * Returns the longer of two lists of entries of one key log: the `given` one, and the one stored
 * here. The stored list so completes a list that ends before a revocation.
 * @throws Refusal `key_log_forked` if they contradict each other, and as `verifyKeyLog` if
 *   `given` breaks a rule by itself
 */
export function completeLog(
  account: string,
  given: readonly string[],
  remembered: readonly string[],
): readonly string[] {
  const other = given.findIndex((jws, seq) => seq < remembered.length && jws !== remembered[seq])
  if (other !== -1) {
    verifyKeyLog(account, given)
    const message = `entry ${other} is not the one stored here`
    throw new Refusal('key_log_forked', message, { entry: other })
  }
  return given.length < remembered.length ? remembered : given
}

/**
 * Checks, on a device that asked to be approved, that it was added (section 3). `log` is the
 * verified key log, and continues `seen`, the newest entry in the answer of the approving device.
 * @returns the device, as in the log
 * @throws Refusal `not_in_log`, `own_keys_differ`, `added_before`, `generation_changed`,
 *   `not_active`
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
  requireThat(found.addedAt > seen, 'added_before', 'the device was added before it was approved')
  // In the generation of that head, an entry after it that names a device is an `add`.
  const same = found.generation === generationAt(log, seen)
  requireThat(same, 'generation_changed', 'the account was reset before the device was added')
  requireThat(found.revokedAt === null, 'not_active', 'the device is already revoked')
  return found
}

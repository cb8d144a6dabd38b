/**
 * Checks a stamp against what this device stores: the key logs of the user's own account and its
 * contacts, which of their keys were accepted, and the key of the account server's receipts.
 */
import { type PublicJwk, thumbprint } from '../../crypto/jose/jwk.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { isLinked } from '../../crypto/logs/generations.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { Refusal, requireThat } from '../../crypto/refusal.ts'
import { type StampFacts, type StampFile, verifyingStamp } from '../../crypto/stamp.ts'
import { inSlices } from '../../slices.ts'
import type { logRows } from '../../state/logs.ts'
import type { TrustRow } from '../../state/trust.ts'
import type { Facts } from './identity.ts'

/** The stored data that a stamp is checked against. */
export interface StampMemory {
  /** The user's account and device; null if no user is signed in. */
  readonly own: { readonly account: string; readonly device: string } | null
  /** The key of the server's receipts, stored at enrolment; null if no user is signed in. */
  readonly receiptKey: PublicJwk | null
  /**
   * Returns the entries of an account's cached key log; an empty list if the account is not cached.
   */
  readonly keyLog: (account: string) => readonly string[]
  /** Returns the generation of another account's keys that this device has accepted. */
  readonly accepted: (account: string) => number
}

/** Returns the stored data of a device; `trust` is null if its table cannot be read. */
export const stampMemoryOf = (
  facts: Pick<Facts, 'account' | 'device' | 'receiptKey'> | null,
  logs: Pick<ReturnType<typeof logRows>, 'read'>,
  trust: { readonly get: (account: string) => TrustRow | null } | null,
): StampMemory => ({
  own: facts && { account: facts.account, device: facts.device },
  receiptKey: facts?.receiptKey ?? null,
  keyLog: (account) => logs.read('keylog', account),
  // If an account is not followed, its first keys are accepted, because the account id certifies
  // them.
  accepted: (account) => trust?.get(account)?.pinned ?? 1,
})

/** Why the signer is known: by the given root, as the own account, or as a cached account. */
export type StampSigner = 'root' | 'own' | 'remembered' | 'unknown'

export interface CheckedStamp {
  readonly facts: StampFacts
  readonly signer: StampSigner
  readonly receipt: 'verified' | 'none' | 'unknown_key'
}

/** Returns whether a receipt names this key; false if the receipt cannot be read. */
function isReceiptOf(receipt: string, key: PublicJwk): boolean {
  try {
    return parseJws(receipt, 'receipt+jws').kid === thumbprint(key)
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/**
 * Returns the key to verify a receipt with; null if there is none.
 *
 * This is the given key or, if the receipt names it, the stored key.
 */
function keyFor({ receipt }: StampFile, given: PublicJwk | null, pinned: PublicJwk | null) {
  if (given !== null || pinned === null || receipt === undefined) return given
  return isReceiptOf(receipt, pinned) ? pinned : null
}

/**
 * Returns whether an account with the accepted generation `accepted` owns `generation`.
 *
 * The account id certifies the first generation, and a recovery key links other generations. Anyone
 * can sign a reset that is not linked, so a generation that is not linked to the accepted one is
 * rejected.
 */
const isAccepted = (log: KeyLog, accepted: number, generation: number): boolean =>
  generation === 1 || isLinked(log, accepted, generation) || isLinked(log, generation, accepted)

function signerOf(
  { payload: { iss }, keyLog: log, generation, root: { hash } }: StampFacts,
  { own, keyLog, accepted }: StampMemory,
  root: string | null,
): StampSigner {
  if (root !== null) {
    const found = Buffer.from(hash).toString('hex')
    requireThat(root === found, 'other_root', `the root of this stamp is ${found}`)
    return 'root'
  }
  if (keyLog(iss).length === 0) return 'unknown'
  const me = iss === own?.account ? log.devices.get(own.device) : undefined
  if (!isAccepted(log, me?.generation ?? accepted(iss), generation)) return 'unknown'
  return me === undefined ? 'remembered' : 'own'
}

/**
 * Verifies a stamp of some content, and finds its signer.
 * @param of the stamped bytes or their SHA-256; `key`: the key of the receipt, if the stored key is
 *   not used; `root`: 64 hex digits that the signer gave to the user
 * @throws Refusal as `verifyStamp`; `other_root`
 */
export async function checkedStamp(
  file: StampFile,
  of: ({ readonly content: Uint8Array } | { readonly digest: Uint8Array }) & {
    readonly key: PublicJwk | null
    readonly root: string | null
  },
  memory: StampMemory,
): Promise<CheckedStamp> {
  const { key, root, ...content } = of
  const serverKey = keyFor(file, key, memory.receiptKey)
  const steps = verifyingStamp(file, {
    ...content,
    remembered: memory.keyLog,
    ...(serverKey === null ? {} : { serverKey }),
  })
  // The verification runs in slices, so that other work runs and a signal can end a command.
  const facts = await inSlices(steps)
  const signer = signerOf(facts, memory, root)
  const isChecked = facts.receipt !== null
  const receipt = isChecked ? 'verified' : file.receipt === undefined ? 'none' : 'unknown_key'
  return { facts, signer, receipt }
}

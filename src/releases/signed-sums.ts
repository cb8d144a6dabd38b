/** Verifies that SHA256SUMS is that of a release: it has a stamp of the release key. */
import { isLinked } from '../crypto/logs/generations.ts'
import { parseJws } from '../crypto/jose/jws.ts'
import { onRefusalLater } from '../crypto/refusal.ts'
import {
  readStampPayload,
  type StampFacts,
  type StampFile,
  verifyingStamp,
} from '../crypto/stamp.ts'
import { inSlices } from '../slices.ts'
import { DownloadRefusal } from './refusal.ts'
import type { ReleaseKey } from './release-key.ts'
import { parseSums, type Sums } from './sums.ts'
import { versionIn } from './version.ts'

const AGAIN = 'Do not use the download. Download the files again from the page of the release.'

export interface SignedSums {
  readonly version: string
  /** When the release was signed, in Unix seconds, as the signer claims. */
  readonly signedAt: number
  readonly sums: Sums
}

/**
 * Returns whether the release key signed a stamp. Anyone can append a reset to the key log of an
 * account, so keys after a reset count only if the recovery key signed the reset.
 */
export const isByReleaseKey = (
  { account }: ReleaseKey,
  { payload, keyLog, generation }: Pick<StampFacts, 'payload' | 'keyLog' | 'generation'>,
): boolean => payload.iss === account && isLinked(keyLog, 1, generation)

/** Verifies the stamp of SHA256SUMS. Another account's key log is not read: it may be long. */
async function verifiedStamp(
  content: Uint8Array,
  file: StampFile,
  key: ReleaseKey,
): Promise<StampFacts> {
  const { iss } = readStampPayload(parseJws(file.stamp, 'stamp+jws').payload)
  if (iss !== key.account)
    throw new DownloadRefusal(
      'other_signer',
      `SHA256SUMS is signed by the account ${iss}. The release key is ${key.account}. ${AGAIN}`,
    )
  return inSlices(verifyingStamp(file, { content, remembered: () => key.key_log }))
}

const CAUSES: Readonly<Record<string, string>> = {
  digest_mismatch:
    'SHA256SUMS is not the stamped file. It was changed, if only the ends of its lines, or it belongs to another release.',
  revoked_key: 'The key that signed SHA256SUMS is revoked.',
  key_log_forked: 'The stamp names other keys of the release account than this program contains.',
}

/**
 * Verifies SHA256SUMS and its stamp, and then reads it.
 * @throws DownloadRefusal with a reason of `verifyStamp`, `other_signer`,
 * `reset_without_recovery_key`, `not_a_release` or `bad_sums`
 */
export async function verifySums(
  content: Uint8Array,
  file: StampFile,
  key: ReleaseKey,
): Promise<SignedSums> {
  const facts = await onRefusalLater(
    () => verifiedStamp(content, file, key),
    (refusal) => {
      const { reason, message } = refusal
      const cause = CAUSES[reason] ?? `The stamp of SHA256SUMS is not valid: ${message}.`
      return new DownloadRefusal(reason, `${cause} ${AGAIN}`, { cause: refusal })
    },
  )
  if (!isByReleaseKey(key, facts))
    throw new DownloadRefusal(
      'reset_without_recovery_key',
      `The release account was reset without its recovery key, so its new keys may belong to anyone. ${AGAIN}`,
    )
  const version = versionIn(facts.payload.ctx)
  if (version === null)
    throw new DownloadRefusal(
      'not_a_release',
      `The release key signed this file, but not as the sums of a release. ${AGAIN}`,
    )
  return { version, signedAt: facts.payload.iat, sums: parseSums(content) }
}

/** The name of a stamp's signer. */
import { comparableName } from './encoding/display-names.ts'
import { UNSHOWABLE } from './encoding/quoted.ts'
import { verifyProfile } from './logs/profile.ts'
import { Refusal } from './refusal.ts'
import type { StampFacts } from './stamp.ts'

const UNSEEN = new RegExp(`[${UNSHOWABLE}]`, 'u')

/**
 * Returns the name that the signer's account signed for itself; null if there is no valid name. A
 * name counts only if keys of the stamp's generation signed it: after a reset, the account may
 * belong to another person.
 * @param profile the signed profile of the account, a JWS
 */
export function signerName(
  profile: string | undefined,
  { keyLog, generation }: Pick<StampFacts, 'keyLog' | 'generation'>,
): string | null {
  if (profile === undefined) return null
  try {
    const { name, device } = verifyProfile(profile, keyLog)
    const isShowable = comparableName(name) !== '' && !UNSEEN.test(name)
    return isShowable && keyLog.devices.get(device)?.generation === generation ? name : null
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

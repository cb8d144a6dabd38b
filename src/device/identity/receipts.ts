/**
 * The account server's receipts for stamps. Only the server's stored key can sign a valid receipt.
 */
import { timeAt } from '../../api/fields.ts'
import { StampAssurance } from '../../api/rest/verify.ts'
import { jwkBytes, type PublicJwk, thumbprint } from '../../crypto/jose/jwk.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { verifyJws } from '../../crypto/jose/jws-signature.ts'
import { requireThat, Refusal } from '../../crypto/refusal.ts'
import { stampFragment } from '../../crypto/stamp.ts'
import { AppError } from '../../errors.ts'

/**
 * Verifies a receipt before it is stored (protocol, section 7).
 * @param stamp the stamp that was sent to the server
 * @param key the server's public key, stored at enrolment
 * @throws AppError backend_error if the receipt is by another key or for another stamp
 */
export function requireReceipt(
  receipt: string,
  { id, jws }: { id: string; jws: string },
  key: PublicJwk,
): void {
  try {
    const parsed = parseJws(receipt, 'receipt+jws')
    requireThat(
      parsed.kid === thumbprint(key),
      'unknown_signer',
      'the receipt is not from the pinned server',
    )
    verifyJws(parsed, jwkBytes(key))
    const { payload } = parsed
    const isIts = payload.get('jti') === id && payload.get('stamp_sha256') === stampFragment(jws)
    requireThat(isIts, 'receipt_mismatch', 'the receipt is for another stamp')
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause
    throw new AppError(
      'backend_error',
      `The account server sent an invalid receipt for ${id} (${cause.reason}), which was not stored. The server may be dishonest.`,
      { cause },
    )
  }
}

/** Returns when the account server received a stamp, from a verified receipt. */
export const receivedAtIn = (receipt: string): string =>
  timeAt(Number(parseJws(receipt, 'receipt+jws').payload.get('received_at')) * 1000)

/** Returns the signer's assurance level in a verified receipt; `device` if the level is unknown. */
export const assuranceIn = (receipt: string): StampAssurance =>
  StampAssurance.options.find(
    (level) => level === parseJws(receipt, 'receipt+jws').payload.get('assurance'),
  ) ?? 'device'

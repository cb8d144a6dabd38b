/** The reasons why a download is refused. */
import type { RefusalReason } from '../crypto/refusal.ts'

/** A reason why a stamp is not valid, or a fault of the release. */
type DownloadFault =
  | RefusalReason
  | 'bad_sums'
  | 'not_a_release'
  | 'not_listed'
  | 'other_signer'
  | 'reset_without_recovery_key'
  | 'sum_mismatch'

/** A download that must not be used. The message names the fault and the remedy. */
export class DownloadRefusal extends Error {
  override readonly name = 'DownloadRefusal'
  readonly reason: DownloadFault

  constructor(reason: DownloadFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

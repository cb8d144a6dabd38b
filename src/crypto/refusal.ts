/**
 * The only error that functions of src/crypto throw.
 *
 * The `reason` names the rule of docs/protocol.md that the input broke. Callers map reasons to
 * their own error codes. A refusal never contains a secret.
 */

const REASONS = [
  // Text forms
  'respelt_base64',
  'length',
  'prefix',
  'alphabet',
  'upper_case',
  'overflow',
  'check',
  'word_count',
  'unknown_word',
  // Signed structures
  'malformed',
  'bad_utf8',
  'bad_json',
  'too_deep',
  'lone_surrogate',
  'duplicate_member',
  'unknown_member',
  'missing_member',
  'superfluous_member',
  'missing_header',
  'extra_header',
  'wrong_alg',
  'wrong_typ',
  'wrong_version',
  'bad_value',
  'bad_op',
  'bad_key',
  'bad_signature',
  'kid_mismatch',
  // Logs: key log and roster
  'empty',
  'too_large',
  'log_full',
  'gap',
  'prev_mismatch',
  'duplicate_entry',
  'key_log_forked',
  'roster_forked',
  'rollback',
  'wrong_account',
  'not_an_account',
  'account_mismatch',
  'wrong_connection',
  'unknown_signer',
  'revoked_signer',
  'seq0_not_self_signed',
  'reset_not_self_signed',
  'renew_not_self_signed',
  'missing_recovery_sig',
  'bad_recovery_sig',
  'duplicate_device',
  'duplicate_key',
  'unknown_device',
  'already_revoked',
  'missing_k_commit',
  'superfluous_k_commit',
  'epoch_skip',
  'leave_opens_epoch',
  'actor_log_mismatch',
  'actor_log_back',
  'member_log_mismatch',
  'generation_unconfirmed',
  'not_member',
  'not_owner',
  'already_member',
  'last_owner',
  'too_many_members',
  'rotation_pending',
  'self_confirm',
  'no_new_generation',
  'logs_unsorted',
  'logs_not_member',
  'too_many_rows',
  'ended',
  // Consents
  'bad_consent',
  'consent_mismatch',
  'consent_log',
  'consent_stale',
  // Profiles
  'not_newer',
  // Envelopes
  'old_epoch',
  'unknown_epoch',
  'wrong_epoch_head',
  'wrong_recipient',
  'wrong_recipient_kid',
  'sender_not_member',
  'unknown_suite',
  'hash_mismatch',
  'not_sealable',
  'open_failed',
  'bad_length',
  'k_commit_mismatch',
  // Stamps
  'key_log_mismatch',
  'digest_mismatch',
  'len_mismatch',
  'receipt_mismatch',
  'assurance_claimed',
  'other_root',
  'revoked_key',
  // Proofs and assertions
  'private_key',
  'bad_jti',
  'wrong_htm',
  'wrong_htu',
  'wrong_iat',
  'missing_ath',
  'superfluous_ath',
  'ath_mismatch',
  'sub_mismatch',
  'wrong_audience',
  'expired',
  'expires_too_late',
  'not_yet_valid',
  // First contact (CPace)
  'ad_mismatch',
  'cpace_abort',
  'tag_mismatch',
  // Challenges
  'too_long',
  // Approval of another device
  'commitment_mismatch',
  'not_in_log',
  'own_keys_differ',
  'added_before',
  'generation_changed',
  'not_active',
  // The recovery paper
  'recovery_checksum',
] as const

export type RefusalReason = (typeof REASONS)[number]

/** Details that a caller may display next to a reason. */
type RefusalDetails = {
  /** For logs: the index of the rejected entry, from 0. */
  entry?: number
  /** For `word_count`: the number of words in the input. */
  found?: number
  /** For `unknown_word`: the sequence of letters that is not on the list, normalised. */
  word?: string
  /** For `unknown_word`: similar list words, most similar first, at most five. */
  suggestions?: string[]
}

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly reason: RefusalReason
  readonly details: RefusalDetails

  constructor(
    reason: RefusalReason,
    message: string,
    details: RefusalDetails = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.reason = reason
    this.details = details
  }
}

/**
 * Returns the result of `work`, and replaces a `Refusal` with another error.
 * @throws the result of `toError` for a `Refusal`; every other error unchanged
 */
export function onRefusal<T>(work: () => T, toError: (refusal: Refusal) => Error): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof Refusal ? toError(error) : error
  }
}

/** Like `onRefusal`, for asynchronous work. */
export async function onRefusalLater<T>(
  work: () => Promise<T>,
  toError: (refusal: Refusal) => Error,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Refusal ? toError(error) : error
  }
}

/** Throws a `Refusal` unless the rule holds. */
export function requireThat(holds: boolean, reason: RefusalReason, message: string): asserts holds {
  if (!holds) throw new Refusal(reason, message)
}

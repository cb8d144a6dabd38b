/** A reset with the recovery key, or without it although the account has one. */
import type { MachineKey } from '../../../api/local/index.ts'
import type { KeyPair } from '../../../crypto/device-keys.ts'
import { AppError } from '../../../errors.ts'
import type { Invocation } from '../../command.ts'
import type { Prompt } from '../../prompt.ts'

/** The input for a reset. */
export interface Reset {
  /** The recovery key, or null for a reset without one. */
  readonly paper: KeyPair | null
  /** Whether to skip all questions: `--yes`. */
  readonly isSure: boolean
}

const UNUSED = `
This account has a recovery key. If you reset with its 24 words ("countersignd reset --recovery-key"), no contact has to confirm you again.
If you reset without them, all your contacts are warned and must compare the safety number with you.
`

/**
 * Warns that the recovery key is not used and asks to confirm.
 * @throws AppError invalid_state unless the user continues without the paper
 */
async function warnUnused({ io }: Pick<Invocation, 'io'>, prompt: Prompt, isSure: boolean) {
  io.stderr.write(`${UNUSED}\n`)
  if (isSure) return
  const typed = await prompt.ask('Type "without" to continue without the recovery key: ')
  if (typed === 'without') return
  throw new AppError(
    'invalid_state',
    'Nothing was reset. Run the same command with --recovery-key. The code is valid for 15 minutes.',
  )
}

/**
 * Returns the part of a reset request besides the credential.
 * That includes the signature of the recovery key if the user has the paper. The daemon checks
 * the key before the request is sent.
 * @throws AppError invalid_state for another paper, and the daemon’s errors about the credential
 */
export async function resetting(
  asking: Pick<Invocation, 'io' | 'withApi'>,
  prompt: Prompt,
  { paper, isSure }: Reset,
  by: { code: string } | { key: MachineKey },
): Promise<{ reset: true; recovery_sig?: string }> {
  const body = { by, recovery_key: paper?.jwk.x ?? null }
  const plan = await asking.withApi((api) => api.signIn.planReset({ body }))
  const { has_recovery_key: hasKey, unsigned } = plan
  // The reset was done before, and its answer was lost.
  if (unsigned === null) return { reset: true }
  if (paper !== null) {
    const { vouchFor } = await import('../../../crypto/logs/key-log-entries.ts')
    return { reset: true, recovery_sig: vouchFor({ op: 'reset', ...unsigned }, paper) }
  }
  if (hasKey) await warnUnused(asking, prompt, isSure)
  return { reset: true }
}

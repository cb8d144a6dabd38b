/**
 * The code keys of the epochs before routine rotations (protocol, section 4).
 *
 * A device that has not synced since the rotation still shows words of the previous epoch. Such
 * words prove nothing, but with these keys the response can explain them. The vault stores the code
 * key, not the secret K, for 7 days.
 */
import { acceptedAt, codeOf, codeReader } from '../../crypto/code.ts'
import { ID_PREFIX, parseId } from '../../crypto/encoding/id.ts'
import type { State } from '../../state/state.ts'
import { readSubject, type Speaker, type Subject } from './code-subjects.ts'
import type { Vault } from '../identity/vault.ts'

const KEPT_MS = 7 * 24 * 3_600_000
/** How far a time service may set the clock back in a correction, in milliseconds. */
const STEP_BACK_MS = 60_000

interface Keeping {
  readonly state: State
  readonly vault: Vault
}

const nameOf = (connection: string) => `former ${connection}`

/** Stores the code key (32 bytes) of the epoch before the current one. */
export function keepFormerKey(
  { state, vault }: Keeping,
  of: { connection: string; epoch: number; speakers: readonly string[]; at: number },
  kc: Uint8Array,
): void {
  const { at: kept_at, ...row } = of
  state.transaction(() => {
    vault.put(nameOf(of.connection), kc)
    state.formerEpochs.put({ ...row, kept_at })
  })
}

/** Deletes the code key of a connection's previous epoch, if there is one. */
export function dropFormerKey({ state, vault }: Keeping, connection: string): void {
  state.transaction(() => {
    state.formerEpochs.delete(connection)
    vault.delete(nameOf(connection))
  })
}

/**
 * Deletes the keys that were stored for 7 days or are no longer useful. Also deletes all keys if
 * the clock was set back, so that a clock change cannot keep them longer.
 * @param at Unix milliseconds
 */
export function dropOldKeys(keeping: Keeping, at: number): void {
  const { formerEpochs } = keeping.state
  for (const id of formerEpochs.over(at - KEPT_MS, at + STEP_BACK_MS)) dropFormerKey(keeping, id)
  formerEpochs.advance(at)
}

/** The speaker of words that belong to the previous epoch. */
interface FormerWords {
  /** The connection, with the number of the previous epoch. */
  readonly subject: Subject
  readonly speaker: Speaker
  readonly window: number
  /** When the epoch ended on this device, Unix milliseconds. */
  readonly changedAt: number
}

/** Returns the accounts that have three words (as indices) under a code key, with the windows. */
function speakersUnder(
  kc: Uint8Array,
  accounts: readonly string[],
  indices: readonly number[],
  now: number,
) {
  const read = codeReader(kc)
  const code = codeOf(indices)
  return accounts.flatMap((account) => {
    const bytes = parseId(ID_PREFIX.account, account)
    return acceptedAt(now)
      .filter((window) => codeOf(read(window, bytes)) === code)
      .map((window) => ({ account, window }))
  })
}

/**
 * Returns the other members of a connection who have these words in the previous epoch. Returns
 * none if the connection is suspended, because one of the members' devices may be revoked.
 * @param indices three word indices
 * @throws AppError keychain_locked, not_signed_in
 */
export function formerWords(
  { state, vault, account }: Keeping & { readonly account: string },
  connection: string,
  indices: readonly number[],
  now: number,
): FormerWords[] {
  const row = state.formerEpochs.get(connection)
  const kc = row && vault.find(nameOf(connection))
  if (row === null || kc === null) return []
  const others = row.speakers.filter((id) => id !== account)
  const fitting = speakersUnder(kc, others, indices, now)
  kc.fill(0)
  // The connection is read only if the words match, which is rare.
  const subject = fitting.length === 0 ? null : readSubject(state, account, connection)
  if (subject === null || subject.hold !== null || subject.epoch !== row.epoch + 1) return []
  const former = { ...subject, epoch: row.epoch }
  return fitting.flatMap(({ account: id, window }) => {
    const speaker = subject.speakers.find((one) => one.id === id)
    return speaker === undefined
      ? []
      : [{ subject: former, speaker, window, changedAt: row.kept_at }]
  })
}

/**
 * The recovery key in the own account's key log (section 3). This device signs the entry with the
 * recovery key's public key. It never receives the words on the paper.
 */
import type { RecoveryKey } from '../../api/local/recovery.ts'
import { every } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { type KeyLog, recoveryEntry } from '../../crypto/logs/key-log.ts'
import { nameRecoveryKey, placeAfterHead } from '../../crypto/logs/key-log-entries.ts'
import { type Refusal, onRefusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import type { DeviceContext } from '../context.ts'
import { continueKeyLog, fetchKeyLog, withLogRefusals, rememberKeyLog } from '../logs/key-log.ts'
import { type SetKey, keepRecoveryLook, recoveryLook } from './recovery-notice.ts'
import { entryTime } from '../logs/trust-history.ts'

const changed = (cause?: unknown) =>
  new AppError(
    'conflict',
    'Another device changed the account’s keys meanwhile. The recovery key was not changed. Try again.',
    { cause },
  )

/** Returns the error for a rejected recovery entry; the Refusal itself if the log is full. */
function notNamed(cause: Refusal): AppError | Refusal {
  if (cause.reason === 'log_full') return cause
  if (/recovery_sig|superfluous_member/.test(cause.reason)) return changed(cause)
  return new AppError('validation_failed', `The new recovery key is not valid (${cause.reason}).`, {
    cause,
  })
}

/** Returns when the current recovery key was set; null if there is none. */
function since({ recovery, entries }: KeyLog): string | null {
  if (recovery === null) return null
  const entry = entries.findLast((one) => {
    const { payload } = parseJws(one, 'keylog+jws')
    return payload.get('op') === 'recovery' || payload.has('recovery_sig')
  })
  return entry === undefined ? null : timeAt(entryTime(entry))
}

const seen = (log: KeyLog): RecoveryKey => ({
  key: log.recovery === null ? null : { kty: 'OKP', crv: 'Ed25519', x: log.recovery },
  since: since(log),
  next: placeAfterHead(log),
})

/**
 * Returns the current recovery key, from the account server's key log.
 * @throws AppError backend_error, and any error from the account server
 */
export async function readRecoveryKey(
  device: DeviceContext,
  account: Account,
): Promise<RecoveryKey> {
  const log = await fetchKeyLog(device.state, account, device.identity.account)
  device.requireSession()
  withLogRefusals(() => rememberKeyLog(device, log))
  return seen(log)
}

/**
 * Sets the recovery key. Repeating it with the same key changes nothing.
 * @param of `seq` is the seq of the new entry; `recovery_sig` is the current recovery key's
 *   signature for that seq, absent if the account has no recovery key
 * @throws AppError conflict if the key log has grown meanwhile, invalid_state if it is full,
 *   backend_error, and any error from the account server
 */
export async function putRecoveryKey(
  device: DeviceContext,
  account: Account,
  of: { key: PublicJwk; seq: number; recovery_sig?: string | undefined },
): Promise<RecoveryKey> {
  const { state, identity, now } = device
  const { sign } = await identity.keys()
  const by = { by: identity.device, kid: identity.kid, seed: sign.secret }
  const { key, seq, recovery_sig: signature } = of
  const inForce = signature === undefined ? {} : { inForce: { signature } }
  const log = await continueKeyLog(state, account, identity.account, (before) => {
    if (before.recovery === key.x) return null
    if (before.seq + 1 !== seq) throw changed()
    const at = Math.floor(now() / 1000)
    return onRefusal(() => nameRecoveryKey({ log: before, key, ...inForce, ...by, at }), notNamed)
  })
  device.requireSession()
  withLogRefusals(() => rememberKeyLog(device, log))
  return seen(log)
}

/** Returns the current recovery key if another device set it; otherwise null. */
async function foreignKey(
  { state, identity, now }: Looking,
  account: Account,
  log: KeyLog,
  since: number,
): Promise<SetKey | null> {
  const entry = recoveryEntry(log)
  if (entry === null || entry.by === identity.device) return null
  const key = log.recovery!
  const revoked = log.active.every(({ id }) => id !== entry.by)
  const known = recoveryLook(state)?.set ?? null
  if (known?.key === key) return { ...known, revoked }
  const devices = await every((query) => account.devices.list(query))
  const name = devices.find(({ id }) => id === entry.by)?.name ?? null
  // The entry claims a time. The entry was not in the log at the last successful sync.
  const at = Math.min(Math.max(entryTime(entry.jws), since), now())
  return { key, device: entry.by, name, at, revoked }
}

type Looking = Pick<DeviceContext, 'state' | 'identity' | 'now' | 'requireSession'>

/**
 * Looks in the own account's stored key log for a recovery key that another device set. Stores the
 * result for the notice.
 * @param since when the last successful sync ended, Unix milliseconds; 0 if there was none
 * @throws AppError for any error from the account server
 */
export async function lookForRecoveryKey(
  device: Looking,
  account: Account,
  since: number,
): Promise<SetKey | null> {
  const log = await device.identity.keyLog()
  const set = await foreignKey(device, account, log, since)
  device.requireSession()
  keepRecoveryLook(device.state, { seq: log.seq, set })
  return set
}

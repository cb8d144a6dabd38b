/**
 * The sealing keys of other devices. Key logs contain only the keys' hashes; the account server
 * sends the keys separately. A device gets no envelope if the server does not send its key, or if
 * the key is unusable.
 */
import { setImmediate } from 'node:timers/promises'
import type { Account } from '../../api/port.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { sealKeyId } from '../../crypto/device-public-keys.ts'
import { sealEnvelope } from '../../crypto/envelope.ts'
import type { LoggedDevice } from '../../crypto/logs/key-log-ops.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { Refusal } from '../../crypto/refusal.ts'
import type { Roster } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'

/** A member's device that will receive the secret. */
export interface Recipient {
  readonly account: string
  readonly device: Pick<LoggedDevice, 'id' | 'seal'>
}

/**
 * Returns the wanted keys by id, from the keys that were sent with a log. Skips a text that is not
 * canonical base64url; the log and the other keys stay valid.
 */
function keysById(
  given: readonly string[],
  wanted: ReadonlySet<string>,
): ReadonlyMap<string, Uint8Array> {
  const keys = given.map(decoded).filter((key) => key !== null)
  const byId = keys.map((key) => [sealKeyId(key), key] as const)
  return new Map(byId.filter(([id]) => wanted.has(id)))
}

function decoded(text: string): Uint8Array | null {
  try {
    return decodeBase64url(text)
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/** Stores the sealing keys that a verified log names, and deletes the account's other keys. */
export function keepSealKeys(
  { sealKeys }: Pick<State, 'sealKeys'>,
  { account, active }: Pick<KeyLog, 'account' | 'active'>,
  given: readonly string[],
): void {
  const wanted = new Set(active.map(({ seal }) => seal))
  sealKeys.add(account, keysById(given, wanted))
  sealKeys.forgetOthers(account, wanted)
}

/** Fetches an account's sealing keys again if some were missing when the log was fetched. */
async function fetchMissing(
  { sealKeys, logs }: Pick<State, 'sealKeys' | 'logs'>,
  account: Account,
  of: { id: string; wanted: ReadonlySet<string> },
): Promise<void> {
  const { id, wanted } = of
  // The log is already stored, but every page of the log comes with the keys.
  const from = logs.head('keylog', id)?.seq ?? 0
  const read = account.keyLogs.read({ account: id, from })
  const { seal_keys } = await read.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return { seal_keys: [] }
    throw error
  })
  sealKeys.add(id, keysById(seal_keys, wanted))
}

/**
 * Seals the secret of the current epoch to devices.
 *
 * Each recipient must be in a current member's verified key log. At most one envelope is sealed per
 * turn of the event loop, so that other work can run.
 * @param k the secret, 32 bytes
 * @returns the envelopes (JSON), in the order of the recipients
 * @throws AppError for any error from the account server
 */
export async function sealedTo(
  state: Pick<State, 'sealKeys' | 'logs'>,
  account: Account,
  of: { roster: Roster; k: Uint8Array },
  recipients: readonly Recipient[],
): Promise<string[]> {
  const { roster, k } = of
  const envelopes: string[] = []
  const asked = new Set<string>()
  for (const { account: id, device } of recipients) {
    await setImmediate()
    const keyOf = () => state.sealKeys.get(id, device.seal)
    let publicKey = keyOf()
    if (publicKey === null && !asked.has(id)) {
      asked.add(id)
      const those = recipients.filter((one) => one.account === id)
      const wanted = new Set(those.map((one) => one.device.seal))
      await fetchMissing(state, account, { id, wanted })
      publicKey = keyOf()
    }
    if (publicKey === null) continue
    const to = { recipient: device.id, kid: device.seal, publicKey }
    const envelope = await sealEnvelope(roster, k, to).catch(nothing)
    if (envelope !== null) envelopes.push(envelope)
  }
  return envelopes
}

/**
 * Returns null if the recipient's key is unusable, so that the other devices get their envelopes.
 */
function nothing(error: unknown): null {
  if (error instanceof Refusal && error.reason === 'not_sealable') return null
  throw error
}

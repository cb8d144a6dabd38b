/**
 * The sealing keys of other devices. Key logs name them by hash; the bytes are sent beside the
 * logs. A device gets no envelope if the account server does not return the bytes of its key, or
 * if nothing can be sealed to that key.
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

/** A device of a member that is to receive the secret. */
export interface Recipient {
  readonly account: string
  readonly device: Pick<LoggedDevice, 'id' | 'seal'>
}

/**
 * Returns the wanted keys among those sent beside a log, by id. A text that is not canonical
 * base64url is skipped; the log and the other keys stay valid.
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

/** Fetches the sealing keys of an account again if some were missing when its log was fetched. */
async function fetchMissing(
  { sealKeys, logs }: Pick<State, 'sealKeys' | 'logs'>,
  account: Account,
  of: { id: string; wanted: ReadonlySet<string> },
): Promise<void> {
  const { id, wanted } = of
  // The log is stored already, but each of its pages has the keys beside it.
  const from = logs.head('keylog', id)?.seq ?? 0
  const read = account.keyLogs.read({ account: id, from })
  const { seal_keys } = await read.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return { seal_keys: [] }
    throw error
  })
  sealKeys.add(id, keysById(seal_keys, wanted))
}

/**
 * Seals the secret of the current epoch to devices. Each is in the checked key log of a current
 * member. Seals at most one envelope in a turn of the event loop, so that other work goes on.
 * @param k 32 bytes
 * @returns the envelopes (JSON), in the order of the recipients
 * @throws AppError what the account throws
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
 * Returns null for a key that nothing can be sealed to, so that other devices get their
 * envelopes.
 */
function nothing(error: unknown): null {
  if (error instanceof Refusal && error.reason === 'not_sealable') return null
  throw error
}

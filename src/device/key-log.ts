/**
 * Key logs at the account server: fetched, checked against what this device has seen of them, remembered; that of the own account is
 * continued as well. The server keeps the order and is believed nothing else: a log that breaks a rule changes nothing here.
 */
import type { Account } from '../api/port.ts'
import type { Known } from '../crypto/chain.ts'
import { hashOf } from '../crypto/jws.ts'
import { type KeyLog, verifyKeyLog } from '../crypto/key-log.ts'
import { Refusal } from '../crypto/refusal.ts'
import { AppError } from '../errors.ts'
import type { State } from '../state/state.ts'
import type { Device } from './device.ts'
import { keyLogFull, unlessFull } from './full-logs.ts'
import { changeFacts } from './identity.ts'
import { judgeHolds } from './kept-connection.ts'
import { keepProfile } from './profiles.ts'
import { keepSealKeys } from './seal-keys.ts'

/** What remembers key logs; `demandSeat` throws AppError not_signed_in once this device has signed out. */
export type Remembering = Pick<Device, 'state' | 'codes' | 'identity' | 'demandSeat'>

/** Each time another device of the same account was faster. */
const ATTEMPTS = 5

/** Do something that judges what the server sent. Throws AppError backend_error where that breaks a rule. */
export function judged<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause
    throw new AppError(
      'backend_error',
      `The account server sent a key log that cannot be right (${cause.reason}), and nothing was changed. The server may be dishonest.`,
      { cause },
    )
  }
}

function knownOf({ logs }: State, account: string): Known | undefined {
  const head = logs.head('keylog', account)
  return head === null ? undefined : { seq: head.seq, head: hashOf(head.entry) }
}

/**
 * Check a key log that the server sent.
 * @param known what it must continue; without it, what this device has seen
 * @throws AppError backend_error
 */
export const judgeKeyLog = (
  state: State,
  account: string,
  entries: readonly string[],
  known: Known | undefined = knownOf(state, account),
): KeyLog => judged(() => verifyKeyLog(account, entries, known))

/** Fetch the key log of an account and check it. Throws AppError backend_error, and what the account throws. */
export async function fetchKeyLog(state: State, account: Account, id: string): Promise<KeyLog> {
  return (await fetchNamedLog(state, account, id)).log
}

/** The same, with the signed profile that came beside the log, which is not checked. */
export async function fetchNamedLog(
  state: State,
  account: Account,
  id: string,
): Promise<{ log: KeyLog; profile: string | undefined }> {
  const { entries, profile } = await account.keyLogs.read({ account: id })
  return { log: judgeKeyLog(state, id, entries), profile }
}

/**
 * Fetch the key log of an account, check it, and remember what is new.
 * @throws Refusal for a log that breaks a rule, goes back or forks, of which nothing is remembered; AppError not_signed_in when this
 *   device signed out meanwhile, and what the account throws
 */
export async function pullKeyLog(
  device: Remembering,
  account: Account,
  id: string,
): Promise<KeyLog> {
  const { entries, seal_keys, profile } = await account.keyLogs.read({ account: id })
  device.demandSeat()
  const log = verifyKeyLog(id, entries, knownOf(device.state, id))
  rememberKeyLog(device, log)
  keepSealKeys(device.state, log, seal_keys)
  keepProfile(device.state, log, profile)
  return log
}

/** Keep a log that was checked, where no connection depends on it yet. */
export function keepKeyLog({ logs }: State, { account, entries }: KeyLog): void {
  const first = (logs.head('keylog', account)?.seq ?? -1) + 1
  for (const [at, entry] of entries.slice(first).entries())
    logs.append({ kind: 'keylog', subject: account, seq: first + at, entry })
}

/**
 * Remember a log that was checked. A device that it revokes holds back what that device knows, from
 * now on; where that is this device, its facts say so.
 */
export function rememberKeyLog(device: Remembering, log: KeyLog): void {
  const { state, identity } = device
  const seen = state.logs.head('keylog', log.account)?.seq ?? log.seq
  const own = log.account === identity.account ? log.devices.get(identity.device) : undefined
  state.transaction(() => {
    keepKeyLog(state, log)
    if (own !== undefined && own.revokedAt !== null) changeFacts(state, { revoked: true })
    const revokes = [...log.devices.values()].some(({ revokedAt }) => (revokedAt ?? -1) > seen)
    if (revokes) {
      state.profiles.keepOf(log.account, new Set(log.active.map(({ id }) => id)))
      judgeHolds(device, log.account)
    }
  })
}

/**
 * Add an entry to the key log of the own account, anew on top of what another device added first.
 * @param next makes the entry that follows a log, or null when there is nothing to add any more
 * @param beside `seal_key`: the bytes of the key that a `renew` names, base64url
 * @returns the log with the entry
 * @throws AppError backend_error, conflict when others were faster every time, invalid_state where the log is full, and what the
 *   account and `next` throw
 */
export async function continueKeyLog(
  state: State,
  account: Account,
  id: string,
  next: (log: KeyLog) => string | null,
  beside: { readonly seal_key?: string } = {},
): Promise<KeyLog> {
  for (let attempt = 1; ; attempt++) {
    const log = await fetchKeyLog(state, account, id)
    const entry = judged(() => unlessFull(() => next(log), keyLogFull))
    if (entry === null) return log
    try {
      const { entries } = await account.keyLogs.append({ body: { entry, ...beside } })
      return judgeKeyLog(state, id, entries, { seq: log.seq + 1, head: hashOf(entry) })
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'conflict' || attempt === ATTEMPTS)
        throw error
    }
  }
}

/**
 * Appends to a roster: one request with the entry and the secret sealed to its recipients.
 *
 * If two devices append at the same time, the second one decides again based on the first one's
 * entry. After a crash the roster is either unchanged, or has the entry together with its
 * envelopes.
 */
import { randomBytes } from 'node:crypto'
import { connectionEnded } from '../../api/connection-ended.ts'
import { MOST_ENVELOPES } from '../../api/device/logs.ts'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import type { Connection } from '../../api/rest/connections.ts'
import { lastPlace } from '../../crypto/logs/chain.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { Refusal } from '../../crypto/refusal.ts'
import {
  type Roster,
  type Signer,
  recipientsOf,
  unconfirmedMembers,
  verifyRoster,
} from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import { presentMembers } from '../logs/deleted-members.ts'
import type { DeviceContext } from '../context.ts'
import { holdsSecret, keepFormer } from './secrets.ts'
import { rosterFull, unlessFull } from '../logs/full-logs.ts'
import { holdRefused, keepConnection, keepRoster } from '../logs/connection-record.ts'
import { isDoubted } from '../logs/reviewed-keys.ts'
import { type KnownRoster, isNewest, rememberRoster } from '../logs/roster-cache.ts'
import { forkedError } from '../logs/replacements.ts'
import { returnedIn } from '../logs/returned.ts'
import { fetchRoster } from '../logs/rosters.ts'
import { type Recipient, sealedTo } from '../identity/seal-keys.ts'
import { unagreed } from '../logs/refused-connections.ts'

/** The maximum number of attempts to append. Each one fails if another device appends first. */
const ATTEMPTS = 8

/** The parts of the device context that signing needs. */
export type Signing = Pick<
  DeviceContext,
  'state' | 'identity' | 'vault' | 'codes' | 'now' | 'requireSession'
>

/**
 * What to sign next.
 *
 * `k` is the new secret if the entry begins an epoch; otherwise null. `to` selects the accounts
 * that receive the secret.
 */
export interface Next {
  readonly entry: string
  readonly k: Uint8Array | null
  readonly to: (account: string) => boolean
  /** The key log of the account that the entry adds. */
  readonly newcomer?: KeyLog
}

/** Creates the secret of a new epoch: 32 random bytes. */
export const newSecret = (): Uint8Array => new Uint8Array(randomBytes(32))

/** Returns the signer of the next entry: this device, with its account's key log position. */
async function signerOf({ identity, now }: Signing, { keyLogs }: KnownRoster): Promise<Signer> {
  const { account: actor, device, kid } = identity
  const { seq, head } = keyLogs.get(actor) ?? (await identity.keyLog())
  const { sign } = await identity.keys()
  const at = Math.floor(now() / 1000)
  return { actor, device, actorLog: { seq, head }, kid, seed: sign.secret, at }
}

/**
 * Returns the devices to which the secret of the current epoch must be sealed.
 *
 * Excludes accounts with keys that the user has not reviewed, and accounts that returned by a fork.
 */
export function recipientsHere(
  { state, identity }: Pick<Signing, 'state'> & { identity: { account: string } },
  known: KnownRoster,
) {
  const { keyLogs } = known
  const roster = presentMembers(state, known.roster)
  const doubted = new Set([
    ...roster.members.filter((one) => isDoubted(state, one)).map(({ account }) => account),
    ...returnedIn(state, identity.account, roster),
  ])
  return recipientsOf(roster, keyLogs).filter(({ account }) => !doubted.has(account))
}

/**
 * Requires that the history of a connection has not forked.
 * @throws AppError invalid_state, created by `forkedError`
 */
export function requireCompleteLog(
  { state, identity }: Pick<Signing, 'state' | 'identity'>,
  id: string,
) {
  if (state.forks.has(id)) throw forkedError(state, identity.account, id)
}

/**
 * Requires that no owner has ended the connection.
 * @throws AppError created by `connectionEnded`
 */
function requireGoingOn({ roster }: KnownRoster): void {
  if (roster.ended) throw connectionEnded()
}

/**
 * Requires that this account is a member, with a generation of keys that an owner has accepted.
 * @throws AppError not_found, or invalid_state with `state` changed_unverified
 * @see protocol, section 4
 */
function requireMember({ roster, keyLogs }: KnownRoster, own: string): void {
  if (roster.members.every(({ account }) => account !== own))
    throw new AppError('not_found', 'You are no longer a member of this connection.')
  if (unconfirmedMembers(roster, keyLogs).includes(own))
    throw new AppError(
      'invalid_state',
      'All devices of this account were replaced since it joined this connection. Nothing can be changed from here until an owner confirms the new keys ("countersignd trust confirm").',
      { details: { state: 'changed_unverified' } },
    )
}

async function post(
  device: Signing,
  account: Account,
  { roster, keyLogs: known }: KnownRoster,
  { entry, k, to, newcomer }: Next,
): Promise<KnownRoster & { sealed: number }> {
  const { connection, entries } = roster
  const keyLogs = newcomer === undefined ? known : new Map(known).set(newcomer.account, newcomer)
  const after = verifyRoster(connection, [...entries, entry], keyLogs, lastPlace(entries))
  const secret = k ?? device.vault.get(connection)
  const recipients = ownFirst(
    recipientsHere(device, { roster: after, keyLogs }).filter((one) => to(one.account)),
    device.identity,
  )
  const [first, rest] = [recipients.slice(0, MOST_ENVELOPES), recipients.slice(MOST_ENVELOPES)]
  const sealed = secret === null ? null : { roster: after, k: secret }
  const envelopes = sealed === null ? [] : await sealedTo(device.state, account, sealed, first)
  await account.rosters.append({ connection, body: { entry, envelopes } })
  await checked(device, connection, () => {
    device.requireSession()
    // A sync may have received another entry with the same seq meanwhile.
    rememberRoster(device.state, after)
    device.state.transaction(() => {
      if (!isNewest(device.state, after)) return
      if (k !== null) keepFormer(device, { roster: after, keyLogs })
      keepRoster(device, { roster: after, keyLogs })
      if (k !== null) device.vault.put(connection, k)
    })
  })
  const more = sealed === null ? 0 : await handOverRest(device, account, sealed, rest)
  return { roster: after, keyLogs, sealed: envelopes.length + more }
}

/**
 * Puts this device first, then the other devices of the account.
 *
 * These devices get the secret together with the entry, even if sealing to the other devices fails
 * later.
 */
export function ownFirst(
  recipients: readonly Recipient[],
  own: Pick<Signing['identity'], 'account' | 'device'>,
): Recipient[] {
  const rank = ({ account, device }: Recipient) =>
    device.id === own.device ? 0 : account === own.account ? 1 : 2
  return recipients.toSorted((one, other) => rank(one) - rank(other))
}

/**
 * Seals the secret of the current epoch to devices, and uploads the envelopes in batches.
 * @returns the number of envelopes that the account server stored
 * @throws AppError conflict if another epoch has begun, or if a device has another sealing key
 */
export async function handOver(
  { state }: Pick<Signing, 'state'>,
  account: Account,
  of: { roster: Roster; k: Uint8Array },
  recipients: readonly Recipient[],
): Promise<number> {
  let sum = 0
  for (let at = 0; at < recipients.length; at += MOST_ENVELOPES) {
    const envelopes = await sealedTo(state, account, of, recipients.slice(at, at + MOST_ENVELOPES))
    if (envelopes.length === 0) continue
    const { connection } = of.roster
    const { stored } = await account.envelopes.add({ connection, body: { envelopes } })
    sum += stored
  }
  return sum
}

/**
 * Like `handOver`, for the remaining envelopes after the entry was stored. Ignores an AppError.
 *
 * A failure must not cause the entry to be signed again. Any member's device seals the missing
 * envelopes at its next sync.
 */
async function handOverRest(...of: Parameters<typeof handOver>): Promise<number> {
  try {
    return await handOver(...of)
  } catch (error) {
    if (error instanceof AppError) return 0
    throw error
  }
}

/**
 * Fetches and verifies the roster of a connection, and caches new entries.
 * @throws AppError backend_error for data that breaks a rule, and any error from the account server
 */
export const readRoster = (
  device: Signing,
  account: Account,
  connection: string,
): Promise<KnownRoster> =>
  checked(device, connection, async () => {
    const known = await fetchRoster(device, account, connection)
    device.requireSession()
    rememberRoster(device.state, known.roster)
    return known
  })

/**
 * Appends an entry to the roster of a connection.
 * @param next creates the entry that follows the given state, or returns null if there is nothing
 *   to append; `holds` is true if this device has the secret of the current epoch
 * @returns the resulting state, and the number of devices to which the secret was sealed
 * @throws AppError conflict if another device was faster each time, backend_error for data that
 *   breaks a rule, invalid_state if the roster is full, and any error from the account server or
 *   `next`
 */
export async function continueRoster(
  device: Signing,
  account: Account,
  connection: string,
  next: (known: KnownRoster, signer: Signer, holds: boolean) => Next | null,
): Promise<KnownRoster & { sealed: number }> {
  requireCompleteLog(device, connection)
  for (let attempt = 1; ; attempt++) {
    const known = await readRoster(device, account, connection)
    if (!isNewest(device.state, known.roster)) continue
    // Also deletes a damaged record before words are derived from it.
    const holds = holdsSecret(device, known)
    keepRoster(device, known)
    requireGoingOn(known)
    requireMember(known, device.identity.account)
    const signer = await signerOf(device, known)
    const wanted = unlessFull(() => next(known, signer, holds), rosterFull(connection))
    if (wanted === null) return { ...known, sealed: 0 }
    try {
      return await post(device, account, known, wanted)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'conflict' || attempt === ATTEMPTS)
        throw error
    }
  }
}

/**
 * Runs a function that verifies data from the account server.
 * @throws AppError backend_error if the data breaks a rule
 */
async function checked<T>(device: Signing, id: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause
    const row = device.state.connections.get(id)
    if (row !== null) holdRefused(device, row, cause.reason)
    throw new AppError(
      'backend_error',
      `The account server sent invalid data for this connection (${cause.reason}). Nothing was changed. The server may be dishonest.`,
      { cause },
    )
  }
}

/**
 * Appends an entry, and stores the connection in its new state.
 * @returns what `continueRoster` returns, and the connection
 * @throws AppError as `continueRoster` does
 */
export async function changeRoster(
  device: Signing,
  account: Account,
  connection: string,
  next: (known: KnownRoster, signer: Signer, holds: boolean) => Next | null,
): Promise<KnownRoster & { sealed: number; connection: Connection }> {
  const after = await continueRoster(device, account, connection, next)
  const now = await account.connections.read({ id: connection })
  device.requireSession()
  // Keeps the row's time, so that the next sync fetches other changes made meanwhile.
  const updated_at = timeAt(device.state.connections.get(connection)?.updated_at ?? 0)
  if (isNewest(device.state, after.roster)) keepConnection(device, { ...now, updated_at }, after)
  return { ...after, connection: now }
}

/**
 * Like `changeRoster`, for an entry that the user did not request.
 *
 * Appends nothing to a connection that the account must leave, because the entry would count as
 * agreement.
 */
export const changeUnasked: typeof changeRoster = (device, account, connection, next) =>
  changeRoster(device, account, connection, (...known) =>
    unagreed(device.state).includes(connection) ? null : next(...known),
  )

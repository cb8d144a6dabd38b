/**
 * Adding to a roster: the entry, and the secret sealed to those who shall have it, in one request. Whoever is second of two at the
 * same moment decides anew on what the first has done. A crash leaves the roster as it was, or with the entry and its envelopes.
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
import { present } from '../logs/deleted-members.ts'
import type { DeviceContext } from '../context.ts'
import { keepFormer } from './former-epoch.ts'
import { rosterFull, unlessFull } from '../logs/full-logs.ts'
import { holdRefused, keepConnection, keepRoster } from '../logs/connection-record.ts'
import { isDoubted } from '../logs/reviewed-keys.ts'
import { type Known, isNewest, rememberRoster } from '../logs/roster-cache.ts'
import { forkedError } from '../logs/replacements.ts'
import { returnedIn } from '../logs/returned.ts'
import { fetchRoster } from '../logs/rosters.ts'
import { type Recipient, sealedTo } from '../identity/seal-keys.ts'
import { holdsSecret } from './secrets.ts'
import { unagreed } from '../logs/refused-connections.ts'

/** Each time somebody else was faster. */
const ATTEMPTS = 8

/** What signing needs of a device. */
export type Signing = Pick<
  DeviceContext,
  'state' | 'identity' | 'vault' | 'codes' | 'now' | 'demandSeat'
>

/** What is signed next: an entry, the secret of the epoch that it opens or null, and to which members the secret is sealed. */
export interface Next {
  readonly entry: string
  readonly k: Uint8Array | null
  readonly to: (account: string) => boolean
  /** The key log of whom the entry takes in. */
  readonly newcomer?: KeyLog
}

/** The secret of a new epoch: 32 bytes. */
export const newSecret = (): Uint8Array => new Uint8Array(randomBytes(32))

/** Who signs now, and where in its key log that device stands. */
async function signerOf({ identity, now }: Signing, { keyLogs }: Known): Promise<Signer> {
  const { account: actor, device, kid } = identity
  const { seq, head } = keyLogs.get(actor) ?? (await identity.keyLog())
  const { sign } = await identity.keys()
  const at = Math.floor(now() / 1000)
  return { actor, device, actorLog: { seq, head }, kid, seed: sign.secret, at }
}

/**
 * The devices that shall have the secret of the current epoch: none of accounts of which this person
 * has other keys in mind, nor of those that came back by a fork.
 */
export function recipientsHere(
  { state, identity }: Pick<Signing, 'state'> & { identity: { account: string } },
  known: Known,
) {
  const { keyLogs } = known
  const roster = present(state, known.roster)
  const doubted = new Set([
    ...roster.members.filter((one) => isDoubted(state, one)).map(({ account }) => account),
    ...returnedIn(state, identity.account, roster),
  ])
  return recipientsOf(roster, keyLogs).filter(({ account }) => !doubted.has(account))
}

/** A connection whose history forked takes no more entries. Throws AppError. */
export function demandWhole({ state, identity }: Pick<Signing, 'state' | 'identity'>, id: string) {
  if (state.forks.has(id)) throw forkedError(state, identity.account, id)
}

/** A connection that an owner ended takes no more entries. Throws AppError. */
function demandGoingOn({ roster }: Known): void {
  if (roster.ended) throw connectionEnded()
}

/** What signs must be of a member, and of the generation that an owner took in (section 3). Throws AppError. */
function demandMember({ roster, keyLogs }: Known, own: string): void {
  if (roster.members.every(({ account }) => account !== own))
    throw new AppError('not_found', 'You are no member of this connection any more.')
  if (unconfirmedMembers(roster, keyLogs).includes(own))
    throw new AppError(
      'invalid_state',
      'All devices of this account were replaced since it came into this connection: until an owner confirms its new keys ("countersignd trust confirm"), nothing can be changed from here.',
      { details: { state: 'changed_unverified' } },
    )
}

async function post(
  device: Signing,
  account: Account,
  { roster, keyLogs: known }: Known,
  { entry, k, to, newcomer }: Next,
): Promise<Known & { sealed: number }> {
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
    device.demandSeat()
    // Meanwhile a sync may have been shown another entry in this one's place.
    rememberRoster(device.state, after)
    device.state.transaction(() => {
      if (!isNewest(device.state, after)) return
      if (k !== null) {
        keepFormer(device, { roster: after, keyLogs })
        device.vault.put(connection, k)
      }
      keepRoster(device, { roster: after, keyLogs })
    })
  })
  const more = sealed === null ? 0 : await handOverRest(device, account, sealed, rest)
  return { roster: after, keyLogs, sealed: envelopes.length + more }
}

/**
 * Puts this device and the others of the account first: they get the secret together with the entry,
 * even if the rest fails.
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
 * Seal the secret of the current epoch to devices and hand it to the account server, as many
 * envelopes at a time as it takes.
 * @returns how many it stored
 * @throws AppError conflict where another epoch has begun, or a device has another sealing key
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
 * The same, once the entry is in: a failure must not have the entry signed again. A device of any
 * member seals what is missing at its next sync.
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
 * Fetch the roster of a connection, check it, and remember what is new. Throws AppError backend_error for what cannot be right, and what
 * the account throws.
 */
export const readRoster = (device: Signing, account: Account, connection: string): Promise<Known> =>
  checked(device, connection, async () => {
    const known = await fetchRoster(device, account, connection)
    device.demandSeat()
    rememberRoster(device.state, known.roster)
    return known
  })

/**
 * Add an entry to the roster of a connection.
 * @param next makes the entry that follows what is known by then, or null when there is nothing to add any more; `holds` says whether
 *   the secret of the current epoch is here
 * @returns what is known then, and to how many devices the secret was sealed
 * @throws AppError conflict when others were faster every time, backend_error for what cannot be right, invalid_state where the roster
 *   is full, and what the account and `next` throw
 */
export async function continueRoster(
  device: Signing,
  account: Account,
  connection: string,
  next: (known: Known, signer: Signer, holds: boolean) => Next | null,
): Promise<Known & { sealed: number }> {
  demandWhole(device, connection)
  for (let attempt = 1; ; attempt++) {
    const known = await readRoster(device, account, connection)
    if (!isNewest(device.state, known.roster)) continue
    // A record that is damaged is dropped here, before words are made of it.
    const holds = holdsSecret(device, known)
    keepRoster(device, known)
    demandGoingOn(known)
    demandMember(known, device.identity.account)
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

/** Do something that judges what the server sent. Throws AppError backend_error where that breaks a rule. */
async function checked<T>(device: Signing, id: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause
    const row = device.state.connections.get(id)
    if (row !== null) holdRefused(device, row, cause.reason)
    throw new AppError(
      'backend_error',
      `What the account server sent of this connection cannot be right (${cause.reason}), and nothing was changed. The server may be dishonest.`,
      { cause },
    )
  }
}

/** Add an entry, and keep the connection as it is then. As `continueRoster`; answers also the connection. */
export async function changeRoster(
  device: Signing,
  account: Account,
  connection: string,
  next: (known: Known, signer: Signer, holds: boolean) => Next | null,
): Promise<Known & { sealed: number; connection: Connection }> {
  const after = await continueRoster(device, account, connection, next)
  const now = await account.connections.read({ id: connection })
  device.demandSeat()
  // The row's time stays: what else changed meanwhile is for the next sync to fetch.
  const updated_at = timeAt(device.state.connections.get(connection)?.updated_at ?? 0)
  if (isNewest(device.state, after.roster)) keepConnection(device, { ...now, updated_at }, after)
  return { ...after, connection: now }
}

/**
 * The same for an entry that no person asked for. None goes into a connection that the account is to
 * leave: it would count as agreement.
 */
export const changeUnasked: typeof changeRoster = (device, account, connection, next) =>
  changeRoster(device, account, connection, (...known) =>
    unagreed(device.state).includes(connection) ? null : next(...known),
  )

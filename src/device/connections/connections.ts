/**
 * Creates connections: one request with the first roster entry and the sealed secret.
 *
 * If the connection is created for an open-link request, the account server stores it together with
 * the approval of the request.
 */
import { randomBytes } from 'node:crypto'
import { MOST_ENVELOPES } from '../../api/device/logs.ts'
import type { Account } from '../../api/port.ts'
import type { Connection, Invitee } from '../../api/rest/connections.ts'
import type { OpenLinkRequest } from '../../api/rest/open-links.ts'
import { ID_PREFIX } from '../../crypto/encoding/id.ts'
import { openEntry, verifyRoster } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import { type Act, isRefusal } from '../../storage/idempotency.ts'
import type { DeviceContext } from '../context.ts'
import { sealedTo } from '../identity/seal-keys.ts'
import { keepConnection } from '../logs/connection-record.ts'
import { pullKeyLog } from '../logs/key-log.ts'
import { dropOpening, keepOpening, type Opening, readOpening } from '../logs/openings.ts'
import { isNewest, rememberRoster } from '../logs/roster-cache.ts'
import type { RosterFork } from '../logs/rosters.ts'
import { operationId } from '../operations.ts'
import { newInvite, targetOf } from './invites.ts'
import { ownFirst, type Signing } from './roster-entries.ts'

/** The user's request. The account server applies `preset_id` and `open_link_request`. */
interface NewConnection extends Pick<Opening, 'preset_id' | 'open_link_request'> {
  readonly name: string
  readonly invite: readonly Invitee[]
  /**
   * The forked connection that the new one replaces, and the evidence for members with devices
   * that did not detect the fork.
   */
  readonly replaces?: string
  readonly fork?: RosterFork
}

/** Creates the first entry, and an envelope for each device of the account. */
async function newOpening(
  { state, vault, identity }: Signing,
  account: Account,
  { id: connection, at, replaces, fork, ...wanted }: NewConnection & { id: string; at: number },
): Promise<Opening> {
  const k = vault.get(connection) ?? new Uint8Array(randomBytes(32))
  const log = await identity.keyLog()
  const keys = await identity.keys()
  const { account: actor, device, kid } = identity
  const seed = keys.sign.secret
  const actorLog = { seq: log.seq, head: log.head }
  const by = { actor, device, actorLog, at, kid, seed }
  const entry = openEntry({ connection, k, ...(replaces === undefined ? {} : { replaces }), ...by })
  const roster = verifyRoster(connection, [entry], new Map([[actor, log]]))
  const own = log.active.map((one) => ({ account: actor, device: one }))
  // The remaining devices get their envelopes at a sync, like all devices that lack the secret.
  const first = ownFirst(own, identity).slice(0, MOST_ENVELOPES)
  const envelopes = await sealedTo(state, account, { roster, k }, first)
  if (!vault.has(connection)) vault.put(connection, k)
  const evidence = fork === undefined ? {} : { fork: [...fork] satisfies Opening['fork'] }
  return { ...wanted, connection, entry, envelopes, invite: [...wanted.invite], ...evidence }
}

/**
 * Creates a connection with this account as its only member, and invites the others to it.
 *
 * The secret and the request body are stored before the request is sent. So a crash may leave a
 * secret without a connection, but never a connection without its secret. If the operation is
 * repeated, the same body is sent again, even if this account's key log has grown. If the server
 * responds conflict because its key log is newer, a second request is made that uses the newer log.
 */
export async function openConnection(
  device: Signing,
  account: Account,
  wanted: NewConnection,
  act: Act,
): Promise<Connection> {
  try {
    return await open(device, account, wanted, act)
  } catch (error) {
    const isLate = error instanceof AppError && error.code === 'conflict'
    if (!isLate || !(await hasGrown(device, account))) throw error
    return open(device, account, wanted, act)
  }
}

/** Checks whether the account server has newer entries of this account's key log. */
async function hasGrown(device: Signing, account: Account): Promise<boolean> {
  const { seq } = await device.identity.keyLog()
  return (await pullKeyLog(device, account, device.identity.account)).seq > seq
}

async function open(
  device: Signing,
  account: Account,
  wanted: NewConnection,
  act: Act,
): Promise<Connection> {
  const { state, identity, requireSession } = device
  const id = operationId(ID_PREFIX.connection, act)
  // The response to an earlier attempt was lost, and a sync has fetched the connection since.
  if (state.connections.get(id) !== null) return account.connections.read({ id })
  const stored = readOpening(state, id)
  const body =
    stored ?? (await newOpening(device, account, { ...wanted, id, at: Math.floor(act.at / 1000) }))
  if (stored === null)
    state.transaction(() => {
      keepOpening(state, body)
      for (const one of wanted.invite) state.invites.put(newInvite(device, id, targetOf(one)))
    })
  const { entry } = body
  const own = new Map([[identity.account, await identity.keyLog()]])
  const roster = verifyRoster(id, [entry], own)
  const made = await account.rosters.open({ body }).catch((error: unknown) => {
    // A device in the body may have been revoked since, or may have a new sealing key.
    if (isRefusal(error)) {
      dropOpening(state, id)
      state.invites.clear(id)
    }
    throw error
  })
  requireSession()
  rememberRoster(state, roster)
  // The response may be late, so the next sync fetches all changes since the creation.
  const opened = { ...made, updated_at: made.created_at }
  if (isNewest(state, roster)) keepConnection(device, opened, { roster, keyLogs: own })
  return made
}

/** More than the maximum number of links of an account. */
const ALL = 200

/** Checks whether another device approved the request first, so that nothing was created here. */
const isApproved = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'invalid_state' &&
  error.details.state === ('approved' satisfies OpenLinkRequest['state'])

/**
 * Approves an open-link request. Does nothing if it was already approved.
 * @param id the id of the request
 * @throws AppError `not_found`; `invalid_state` if the request was declined or came from the
 *   account's own mailbox; and any error from the account server
 */
export async function approveRequest(
  device: DeviceContext,
  account: Account,
  id: string,
  act: Act,
): Promise<OpenLinkRequest> {
  const read = () => account.openLinkApprovals.read({ id })
  const request = await read()
  const { state, requester } = request
  if (state === 'approved') return request
  if (state === 'declined')
    throw new AppError(
      'invalid_state',
      'This request was declined. The person who asked may ask again.',
      {
        details: { state },
      },
    )
  const { items } = await account.openLinks.list({ limit: ALL })
  const preset = items.find((link) => link.id === request.open_link_id)?.preset_id ?? null
  const wanted = {
    name: requester.display_name,
    invite: [{ email: requester.email }],
    open_link_request: id,
    // If the link has no preset, the server uses the default preset.
    ...(preset === null ? {} : { preset_id: preset }),
  }
  try {
    const { id: connection_id } = await openConnection(device, account, wanted, act)
    return { ...request, state: 'approved', connection_id }
  } catch (error) {
    if (isApproved(error)) return read()
    throw error
  }
}

/** Making a connection: its secret, the first entry of its roster, and the secret sealed to this device, in one request. */
import { MOST_ENVELOPES } from '../../api/device/logs.ts'
import type { Account } from '../../api/port.ts'
import type { Connection, Invitee } from '../../api/rest/connections.ts'
import { randomBytes } from 'node:crypto'
import { PREFIX } from '../../crypto/encoding/id.ts'
import { openEntry, verifyRoster } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import { type Act, isRefusal } from '../../storage/idempotency.ts'
import { idOf } from '../operations.ts'
import { pullKeyLog } from '../logs/key-log.ts'
import { keepConnection } from '../logs/connection-record.ts'
import { newInvite, targetOf } from './invites.ts'
import { type Opening, dropOpening, keepOpening, readOpening } from '../logs/openings.ts'
import { isNewest, rememberRoster } from '../logs/roster-cache.ts'
import { type Signing, ownFirst } from './roster-entries.ts'
import type { Fork } from '../logs/rosters.ts'
import { sealedTo } from '../identity/seal-keys.ts'

/** What the person asks for; the account server does what is told of a preset and of a request. */
export interface Wanted extends Pick<Opening, 'preset_id' | 'open_link_request'> {
  readonly name: string
  readonly invite: readonly Invitee[]
  /** The forked connection that it replaces, and the evidence for those who did not see the fork. */
  readonly replaces?: string
  readonly fork?: Fork
}

/** The first entry and an envelope for each device of the account. */
async function newOpening(
  { state, vault, identity }: Signing,
  account: Account,
  { id: connection, at, replaces, fork, ...wanted }: Wanted & { id: string; at: number },
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
  // Those that are too many get theirs as other devices without one do, at a sync.
  const first = ownFirst(own, identity).slice(0, MOST_ENVELOPES)
  const envelopes = await sealedTo(state, account, { roster, k }, first)
  if (!vault.has(connection)) vault.put(connection, k)
  const evidence = fork === undefined ? {} : { fork: [...fork] satisfies Opening['fork'] }
  return { ...wanted, connection, entry, envelopes, invite: [...wanted.invite], ...evidence }
}

/**
 * Open a new connection whose only member is the own account, others being invited to it. The secret, and all that the server is asked, are kept before it
 * hears of the connection: a crash in between leaves a secret without a connection, never a connection without its secret, and
 * the same operation sends the same request again, even if the own key log grew. Where the server knows a newer one, it asks once more on top of that.
 */
export async function openConnection(
  device: Signing,
  account: Account,
  wanted: Wanted,
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

/** Whether the own key log has entries that were not known here: another device was added, revoked or renewed. */
async function hasGrown(device: Signing, account: Account): Promise<boolean> {
  const { seq } = await device.identity.keyLog()
  return (await pullKeyLog(device, account, device.identity.account)).seq > seq
}

async function open(
  device: Signing,
  account: Account,
  wanted: Wanted,
  act: Act,
): Promise<Connection> {
  const { state, identity, demandSeat } = device
  const id = idOf(PREFIX.connection, act)
  // The answer to an earlier attempt was lost, and a sync brought the connection since.
  if (state.connections.get(id) !== null) return account.connections.read({ id })
  const kept = readOpening(state, id)
  const body =
    kept ?? (await newOpening(device, account, { ...wanted, id, at: Math.floor(act.at / 1000) }))
  if (kept === null)
    state.transaction(() => {
      keepOpening(state, body)
      for (const one of wanted.invite) state.invites.put(newInvite(device, id, targetOf(one)))
    })
  const { entry } = body
  const own = new Map([[identity.account, await identity.keyLog()]])
  const roster = verifyRoster(id, [entry], own)
  const made = await account.rosters.open({ body }).catch((error: unknown) => {
    // One of the devices that it is sealed to may be revoked by now, or have another sealing key.
    if (isRefusal(error)) {
      dropOpening(state, id)
      state.invites.clear(id)
    }
    throw error
  })
  demandSeat()
  rememberRoster(state, roster)
  // Of an answer that comes late: what happened since the opening, the next sync fetches.
  const opened = { ...made, updated_at: made.created_at }
  if (isNewest(state, roster)) keepConnection(device, opened, { roster, keyLogs: own })
  return made
}

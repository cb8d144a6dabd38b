/** Making a connection: its secret, the first entry of its roster, and the secret sealed to this device, in one request. */
import type { Account } from '../api/port.ts'
import type { Connection } from '../api/rest/connections.ts'
import { randomBytes } from 'node:crypto'
import { sealEnvelope } from '../crypto/envelope.ts'
import { PREFIX } from '../crypto/id.ts'
import { openEntry, verifyRoster } from '../crypto/roster.ts'
import type { Act } from '../state/idempotency.ts'
import { idOf } from './acts.ts'
import type { Device } from './device.ts'

/**
 * Open a new connection whose only member is the own account. The secret is kept before the server hears of the connection:
 * a crash in between leaves a secret without a connection, never a connection without its secret. The same act opens the same
 * connection, with the same secret.
 */
export async function openConnection(
  { state, vault, codes, identity, demandSeat }: Device,
  account: Account,
  name: string,
  act: Act,
): Promise<Connection> {
  const id = idOf(PREFIX.connection, act)
  const k = vault.get(id) ?? new Uint8Array(randomBytes(32))
  const log = await identity.keyLog()
  const keys = await identity.keys()
  const entry = openEntry({
    connection: id,
    actor: identity.account,
    device: identity.device,
    actorLog: { seq: log.seq, head: log.head },
    k,
    at: Math.floor(act.at / 1000),
    kid: identity.kid,
    seed: keys.sign.secret,
  })
  const roster = verifyRoster(id, [entry], new Map([[identity.account, log]]))
  const envelopes = await Promise.all(
    log.active.map((device) =>
      sealEnvelope({
        connection: id,
        epoch: roster.epoch,
        epochHead: roster.epochHead,
        k,
        sender: identity.device,
        senderKid: identity.kid,
        senderSeed: keys.sign.secret,
        recipient: device.id,
        recipientSeal: device.keys.seal,
      }),
    ),
  )
  if (!vault.has(id)) vault.put(id, k)
  const made = await account.rosters.open({ body: { connection: id, name, entry, envelopes } })
  demandSeat()
  const row = {
    id,
    name: made.name,
    epoch: roster.epoch,
    head: roster.epochHead,
    members: made.members.map(({ user_id, display_name }) => ({ user_id, display_name })),
    updated_at: Date.parse(made.updated_at),
  }
  state.transaction(() => {
    state.logs.append({ kind: 'roster', subject: id, seq: 0, entry })
    state.connections.put(row)
  })
  codes.putConnection(row)
  return made
}

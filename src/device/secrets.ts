/** What a connection's secret rests on, fetched and checked: its roster, and the envelope that is sealed to this device. */
import type { Account } from '../api/port.ts'
import { openEnvelope } from '../crypto/envelope.ts'
import { hashOf } from '../crypto/jws.ts'
import { type Roster, verifyRoster } from '../crypto/roster.ts'
import type { State } from '../state/state.ts'
import type { Identity } from './identity.ts'

const keyLogsOf = async (identity: Identity) =>
  new Map([[identity.account, await identity.keyLog()]])

/**
 * Fetch the roster of a connection, and check it against what this device has seen of it.
 * @returns the roster, its entries to remember, and whether there are more than were known
 * @throws Refusal for a roster that breaks a rule, goes back or forks
 */
export async function fetchRoster(
  { state, identity }: { state: State; identity: Identity },
  account: Account,
  connection: string,
): Promise<{ roster: Roster; entries: readonly string[]; fresh: boolean }> {
  const { entries } = await account.rosters.read({ connection })
  const keyLogs = await keyLogsOf(identity)
  const known = state.logs.head('roster', connection)
  const roster = verifyRoster(
    connection,
    entries,
    keyLogs,
    known === null ? undefined : { seq: known.seq, head: hashOf(known.entry) },
  )
  return { roster, entries, fresh: known === null || known.seq < roster.seq }
}

/**
 * Fetch the secret of a connection from the envelope sealed to this device.
 * @returns null when there is no envelope
 * @throws Refusal for an envelope that breaks a rule
 */
export async function fetchSecret(
  identity: Identity,
  account: Account,
  roster: Roster,
): Promise<Uint8Array | null> {
  const { envelopes } = await account.envelopes.read({ connection: roster.connection })
  const [envelope] = envelopes
  if (envelope === undefined) return null
  const { seal } = await identity.keys()
  const keyLogs = await keyLogsOf(identity)
  return openEnvelope({ envelope, roster, keyLogs, recipient: identity.device, seal })
}

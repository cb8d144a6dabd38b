/** What a connection's secret rests on, fetched and checked: its roster, and the envelope that is sealed to this device. */
import type { Account } from '../api/port.ts'
import { openEnvelope } from '../crypto/envelope.ts'
import { hashOf } from '../crypto/jws.ts'
import { type Roster, verifyRoster } from '../crypto/roster.ts'
import type { State } from '../state/state.ts'
import type { Identity } from './identity.ts'
import type { Vault } from './vault.ts'

const keyLogsOf = async (identity: Identity) =>
  new Map([[identity.account, await identity.keyLog()]])

/**
 * Fetch the roster of a connection, check it against what this device has seen of it, and remember it.
 * @returns the roster, and whether it was longer than what was known
 * @throws Refusal for a roster that breaks a rule, goes back or forks
 */
export async function pullRoster(
  { state, identity }: { state: State; identity: Identity },
  account: Account,
  connection: string,
): Promise<{ roster: Roster; fresh: boolean }> {
  const { entries } = await account.rosters.read({ connection })
  const known = state.logs.head('roster', connection)
  const roster = verifyRoster(
    connection,
    entries,
    await keyLogsOf(identity),
    known === null ? undefined : { seq: known.seq, head: hashOf(known.entry) },
  )
  for (const [seq, entry] of entries.entries())
    state.logs.append({ kind: 'roster', subject: connection, seq, entry })
  return { roster, fresh: known === null || known.seq < roster.seq }
}

/**
 * Fetch the secret of a connection from the envelope sealed to this device.
 * @returns whether there was one
 * @throws Refusal for an envelope that breaks a rule
 */
export async function pullSecret(
  { identity, vault }: { identity: Identity; vault: Vault },
  account: Account,
  roster: Roster,
): Promise<boolean> {
  const { envelopes } = await account.envelopes.read({ connection: roster.connection })
  const [envelope] = envelopes
  if (envelope === undefined) return false
  const { seal } = await identity.keys()
  const keyLogs = await keyLogsOf(identity)
  vault.put(
    roster.connection,
    await openEnvelope({ envelope, roster, keyLogs, recipient: identity.device, seal }),
  )
  return true
}

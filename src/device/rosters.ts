/**
 * Rosters as the account server shows them: fetched with the key logs that they rest on, and checked. They must continue what was seen
 * before. Of two valid histories both are kept, as evidence.
 */
import type { Account } from '../api/port.ts'
import { hashOf } from '../crypto/jws.ts'
import { Refusal } from '../crypto/refusal.ts'
import { type KeyLogs, accountsOf, verifyRoster } from '../crypto/roster.ts'
import { noteDeparted } from './departed.ts'
import { type Remembering, pullKeyLog } from './key-log.ts'
import { keepProfile } from './profiles.ts'
import { type Known, keepFork, rememberedLog } from './remembered.ts'

/**
 * The key logs of accounts, those fetched that are not known as far as they go.
 * @param lengths the newest seq of each, as the account server says; it is believed only that there is more to ask for
 * @throws Refusal for a log that breaks a rule, goes back or forks
 */
async function keyLogsOf(
  device: Remembering,
  account: Account,
  accounts: readonly string[],
  lengths: ReadonlyMap<string, number>,
): Promise<KeyLogs> {
  const keyLogs = new Map()
  for (const id of accounts) {
    const known = rememberedLog(device.state, id)
    const isWhole = known !== null && known.seq >= (lengths.get(id) ?? 0)
    keyLogs.set(id, isWhole ? known : await pullKeyLog(device, account, id))
  }
  return keyLogs
}

/**
 * Fetch the roster of a connection, and check it.
 * @returns also whether there was anything new, which is not remembered yet
 * @throws Refusal for a roster or a key log that breaks a rule, goes back or forks; of a roster that forks, the other history is kept
 */
export async function fetchRoster(
  device: Remembering,
  account: Account,
  connection: string,
): Promise<Known & { fresh: boolean }> {
  const { state } = device
  const before = state.logs.head('roster', connection)
  const { entries, key_logs } = await account.rosters.read({ connection })
  const lengths = new Map(key_logs.map(({ account: of, seq }) => [of, seq]))
  const departed = new Map(
    key_logs.flatMap(({ account: of, departed_epoch: epoch }) =>
      epoch === undefined ? [] : [[of, epoch] as const],
    ),
  )
  const keyLogs = await keyLogsOf(device, account, accountsOf(entries), lengths)
  const seen = state.logs.read('roster', connection).map(hashOf)
  const known =
    before === null ? undefined : { seq: before.seq, head: hashOf(before.entry), heads: seen }
  try {
    const roster = verifyRoster(connection, entries, keyLogs, known)
    device.demandSeat()
    noteDeparted(state, roster, departed, device.identity.account)
    for (const { account: of, profile } of key_logs) {
      const log = keyLogs.get(of)
      if (log !== undefined) keepProfile(state, log, profile)
    }
    return { roster, keyLogs, fresh: roster.seq >= seen.length }
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'roster_forked')
      keepFork(state, connection, entries)
    throw error
  }
}

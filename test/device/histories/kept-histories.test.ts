/** Tests the histories of a forked connection, read from the state database. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import { openEntry } from '../../../src/crypto/logs/roster-entries.ts'
import { historiesOf } from '../../../src/device/logs/histories.ts'
import { openState } from '../../../src/state/state.ts'
import {
  newConnection,
  newDevice,
  newPerson,
  opening,
  rosterEntry,
  signer,
} from '../../crypto/builders.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'

/** Returns the entry with another signature, possible only for an entry that was not verified. */
const unsigned = (jws: string) =>
  [...jws.split('.').slice(0, 2), randomBytes(64).toString('base64url')].join('.')

it('a roster is verified again without checking the signatures before the fork', (t) => {
  const device = newDevice()
  const person = newPerson(device)
  const connection = newConnection()
  const k = new Uint8Array(randomBytes(32))
  const first = openEntry({ connection, k, ...signer(person, device) })
  const next = (seq: number, before: string) => {
    const place = { connection, seq, epoch: seq + 1, head: entryHash(before) }
    const opened = opening(place, new Uint8Array(randomBytes(32)))
    return rosterEntry(place, person, device, { op: 'rotate', ...opened })
  }
  const second = unsigned(next(0, first))
  const [third, other] = [next(1, second), next(1, second)]
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  state.logs.append({
    kind: 'keylog',
    subject: person.account,
    seq: 0,
    entry: person.log.entries[0]!,
  })
  for (const [seq, entry] of [first, second, third].entries())
    state.logs.append({ kind: 'roster', subject: connection, seq, entry })
  // Histories of one length are in no order.
  const lengths = () =>
    historiesOf(state, connection)
      ?.others.map(({ roster }) => roster.seq)
      .sort()
  state.forks.keep(connection, [{ seq: 2, entry: other }])
  assert.deepEqual(lengths(), [2])
  // Entries that only the other history has are verified.
  state.forks.keep(connection, [{ seq: 2, entry: unsigned(next(1, second)) }])
  assert.deepEqual(lengths(), [1, 2])
})

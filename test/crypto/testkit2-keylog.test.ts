/** Tests key logs with test kit 2: their rules, limits, account ids and safety numbers. */
import assert from 'node:assert/strict'
import type { LoggedKeys } from '../../src/crypto/device-public-keys.ts'
import { formatId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { isLinked } from '../../src/crypto/logs/generations.ts'
import { verifyKeyLog, checkOwnEntry } from '../../src/crypto/logs/key-log.ts'
import { requireKeyLogPlace, type Op } from '../../src/crypto/logs/key-log-form.ts'
import { rootOf, safetyNumber } from '../../src/crypto/safety-number.ts'
import { bytes, hex, ofKind, readKit, run, type Case } from './kit2.ts'

type Known = { seq: number; head_hex: string }
const known = (place: Known) => ({ seq: place.seq, head: bytes(place.head_hex) })

type KeyLogCase = {
  account: string
  known: Known | null
  entries: number[]
  head_hex: string
  seq: number
  generation: number
  linked_to: number[]
  recovery: string | null
  active: string[]
  seals: Record<string, string>
}
const { pool } = readKit<KeyLogCase, { pool: string[] }>('keylog.json')
run<KeyLogCase>(
  'keylog.json',
  () => true,
  (of) => {
    const entries = of.entries.map((at) => pool[at]!)
    const log = verifyKeyLog(of.account, entries, of.known === null ? undefined : known(of.known))
    const { seq, head, generation, recovery, active } = log
    const linked = Array.from({ length: generation }, (_, index) => index + 1)
    assert.deepEqual(
      {
        seq,
        head_hex: hex(head),
        generation,
        recovery,
        linked_to: linked.filter((from) => isLinked(log, from, generation)),
        active: active.map(({ id }) => id),
        seals: Object.fromEntries(active.map(({ id, seal }) => [id, seal])),
      },
      {
        seq: of.seq,
        head_hex: of.head_hex,
        generation: of.generation,
        recovery: of.recovery,
        linked_to: of.linked_to,
        active: of.active,
        seals: of.seals,
      },
    )
  },
)

type LogCase = { account: string; entries: string[]; head_hex?: string }
run<LogCase>(
  'account-id.json',
  (of: Case) => 'entries' in of,
  ({ account, entries, head_hex }) =>
    assert.equal(hex(verifyKeyLog(account, entries).head), head_hex),
)

run<LogCase>('limits.json', ofKind('keylog'), ({ account, entries }) => {
  verifyKeyLog(account, entries)
})

run<{ op: Op; seq: number }>(
  'limits.json',
  (of) => of.kind === 'place' && 'log' in of && of.log === 'keylog',
  ({ op, seq }) => requireKeyLogPlace(op, seq),
)

type OwnCase = LogCase & { device: string; keys: LoggedKeys; seen: Known; seq: number }
run<OwnCase>('approval.json', ofKind('own-check'), (of) => {
  const log = verifyKeyLog(of.account, of.entries, known(of.seen))
  assert.equal(checkOwnEntry(log, of, of.seen.seq).addedAt, of.seq)
})

type SafetyCase = {
  a_hex: string
  b_hex: string
  a_root_hex: string
  b_root_hex: string
  groups: string[]
  a_log?: string[]
  b_log?: string[]
}
run<SafetyCase>(
  'safety-number.json',
  () => true,
  (of) => {
    const rooted = (account_hex: string, root_hex: string, log?: string[]) => {
      const account = formatId(ID_PREFIX.account, bytes(account_hex))
      const given = { account, root: bytes(root_hex) }
      if (log !== undefined) assert.deepEqual(rootOf(verifyKeyLog(account, log)), given)
      return given
    }
    const [a, b] = [
      rooted(of.a_hex, of.a_root_hex, of.a_log),
      rooted(of.b_hex, of.b_root_hex, of.b_log),
    ]
    assert.equal(safetyNumber(a, b), of.groups.join(' '))
    assert.equal(safetyNumber(b, a), of.groups.join(' '))
  },
)

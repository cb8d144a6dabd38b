/** The limit on mails to one mailbox, on both engines. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Allowance, takePlace } from '../../../src/service/accounts/mail-allowance.ts'
import { openServiceDatabase } from '../database.ts'
import { onBothEngines } from '../engines.ts'

const HOUR = 3_600_000
const CODES: Allowance = { what: 'code', most: 2, periodMs: HOUR }
const NOW = Date.UTC(2026, 0, 1)
const ADA = 'ada@example.org'

/** The times at which mails are requested, and whether each is allowed. */
const cases: [name: string, requests: (readonly [at: number, isAllowed: boolean])[]][] = [
  [
    'two in a period',
    [
      [NOW, true],
      [NOW, true],
      [NOW + HOUR - 1, false],
    ],
  ],
  [
    'an allowance is free again after its period',
    [
      [NOW, true],
      [NOW + 1, true],
      [NOW + HOUR, true],
    ],
  ],
  // Clocks of replicas differ by less than a period.
  [
    'uses by a clock less than a period ahead count',
    [
      [NOW + HOUR, true],
      [NOW + HOUR, true],
      [NOW, false],
    ],
  ],
  [
    'uses by a clock further ahead do not count',
    [
      [NOW + HOUR + 1, true],
      [NOW + HOUR + 1, true],
      [NOW, true],
      [NOW, true],
      [NOW, false],
    ],
  ],
  [
    'uses by a clock years ahead do not count',
    [
      [NOW + 20_000 * HOUR, true],
      [NOW + 20_000 * HOUR, true],
      [NOW, true],
    ],
  ],
]

onBothEngines((name, engine) => {
  describe(`mails to a mailbox: ${name}`, () => {
    for (const [what, requests] of cases)
      test(what, async (t) => {
        const { db, close } = await openServiceDatabase(await engine.newPlace())
        t.after(close)
        for (const [at, isAllowed] of requests) {
          const taken = await db.transaction().execute((trx) => takePlace(trx, CODES, ADA, at))
          assert.equal(taken, isAllowed)
        }
        // Another mailbox and another kind of mail have places of their own.
        const other = { ...CODES, what: 'invitation' }
        assert(
          await db.transaction().execute((trx) => takePlace(trx, CODES, 'bob@example.org', NOW)),
        )
        assert(await db.transaction().execute((trx) => takePlace(trx, other, ADA, NOW)))
      })
  })
})

/** What the exit code of words that verify depends on. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Verification } from '../../src/api/rest/verify.ts'
import type { Api } from '../../src/cli/command.ts'
import { EXIT } from '../../src/errors.ts'
import { call } from './calling.ts'

const WRONG = ['matador', 'carload', 'recede']

describe('the exit code of words that verify', () => {
  const answer = (conclusive: boolean, isSure: boolean): Verification => ({
    verified: true,
    conclusive,
    replayed: false,
    echo: false,
    summary: 'Verified: the words of Bob ("Bank").',
    matches: [
      {
        kind: 'connection',
        speaker: 'other',
        display_name: 'Bob',
        window: 1,
        conclusive: isSure,
        ...(isSure ? {} : { reasons: ['sync_stale' as const] }),
      },
    ],
    checked: 1,
    unchecked: conclusive ? 0 : 1,
    reasons: conclusive ? [] : ['rotation_pending'],
    checked_at: '2026-01-01T00:00:00.000Z',
  })

  for (const [conclusive, isSure, exit] of [
    [true, true, EXIT.ok],
    [false, true, EXIT.ok],
    [false, false, EXIT.inconclusive],
  ] as const)
    it(`${exit}, where ${conclusive ? 'everything' : 'not everything'} was checked and the match is ${isSure ? '' : 'not '}sure`, async () => {
      const api = { verify: { words: async () => answer(conclusive, isSure) } }
      const { code } = await call(api as unknown as Partial<Api>, ['verify', ...WRONG])
      assert.equal(code, exit)
    })
})

/** Tests the reasons of refusals that docs/protocol.md names for other implementations. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RefusalReason } from '../../src/crypto/refusal.ts'

const ROOT = join(import.meta.dirname, '../..')
const protocol = readFileSync(join(ROOT, 'docs/protocol.md'), 'utf8')
const source = readFileSync(join(ROOT, 'src/crypto/refusal.ts'), 'utf8')

/** The reasons for a wrong argument of a call in this program, never for received data. */
const INTERNAL: readonly RefusalReason[] = ['bad_length']

test('the protocol names every reason of a rejection', () => {
  const list = source.slice(source.indexOf('REASONS = ['), source.indexOf('] as const'))
  const reasons = [...list.matchAll(/^ {2}'(\w+)',$/gm)].map(
    ([, reason]) => reason as RefusalReason,
  )
  assert.ok(reasons.includes('malformed') && reasons.includes('recovery_checksum'))
  const unnamed = reasons.filter((reason) => !protocol.includes(`\`${reason}\``))
  assert.deepEqual(unnamed, INTERNAL)
})

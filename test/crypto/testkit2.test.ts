/** Cases of test kit 2, whose files name the rule that each refused case breaks. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parseJson } from '../../src/crypto/json.ts'
import { verifyJws } from '../../src/crypto/jws-signature.ts'
import { Refusal } from '../../src/crypto/refusal.ts'

interface Case {
  readonly id: string
  readonly kind: string
  readonly accept: boolean
  readonly reason?: string
}

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

/** Runs the cases of one kind: each is accepted, or refused for its reason. */
function run<T>(file: string, kind: string, check: (of: Case & T) => unknown) {
  const text = readFileSync(new URL(`../testkit2/${file}`, import.meta.url), 'utf8')
  const { cases } = JSON.parse(text) as { cases: (Case & T)[] }
  const those = cases.filter((of) => of.kind === kind)
  describe(`${file}, ${kind}`, () => {
    assert(those.length > 0, `${file} has no cases of the kind ${kind}`)
    for (const of of those)
      test(of.id, () => {
        if (of.accept) {
          check(of)
          return
        }
        const isReason = (error: unknown) => error instanceof Refusal && error.reason === of.reason
        assert.throws(() => check(of), isReason, `not refused as ${of.reason}`)
      })
  })
}

run<{ text: string }>('limits.json', 'json', ({ text }) =>
  parseJson(new TextEncoder().encode(text)),
)

run<{ public_hex: string; message_hex: string; signature_hex: string }>(
  'limits.json',
  'ed25519',
  (of) => {
    const jws = { signature: bytes(of.signature_hex), signingInput: bytes(of.message_hex) }
    verifyJws(jws, bytes(of.public_hex))
  },
)

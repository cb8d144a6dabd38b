/** Cases of test kit 2 for JSON and Ed25519. */
import { parseJson } from '../../src/crypto/json.ts'
import { verifyJws } from '../../src/crypto/jws-signature.ts'
import { bytes, ofKind, run } from './kit2.ts'

run<{ text: string }>('limits.json', ofKind('json'), ({ text }) =>
  parseJson(new TextEncoder().encode(text)),
)

run<{ public_hex: string; message_hex: string; signature_hex: string }>(
  'limits.json',
  ofKind('ed25519'),
  (of) => {
    const jws = { signature: bytes(of.signature_hex), signingInput: bytes(of.message_hex) }
    verifyJws(jws, bytes(of.public_hex))
  },
)

/** Tests JSON, Ed25519 and the clock with test kit 2. */
import assert from 'node:assert/strict'
import { parseJson } from '../../src/crypto/encoding/json.ts'
import { verifyJws } from '../../src/crypto/jose/jws-signature.ts'
import { clockStateOf } from '../../src/device/codes/clock.ts'
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

interface ClockCase {
  last_good_sync: number
  wall: number
  boot: number
  measured_wall: number
  measured_boot: number
  clock_uncertain: boolean
}
run<ClockCase>('limits.json', ofKind('clock'), (of) => {
  const reading = (wall: number, ran: number) => ({
    wall_ms: wall * 1000,
    uptime_ms: ran * 1000,
    boot: 'boot',
  })
  const measured = reading(of.measured_wall, of.measured_boot)
  const state = clockStateOf(measured, reading(of.wall, of.boot), of.last_good_sync * 1000)
  assert.equal(state !== 'steady', of.clock_uncertain, state)
})

/** Tests CPace: the cases of test kit 2, which include the vectors of the draft. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ristretto255 } from '@noble/curves/ed25519.js'
import {
  calculateGenerator,
  generatorString,
  lengthValueConcat,
  macKey,
  prependLength,
  sampleScalar,
  scalarMultVerify,
  sessionKey,
  initiate,
  respond,
} from '../../src/crypto/cpace.ts'
import { contactInput, inviteeAd, inviterAd } from '../../src/crypto/first-contact.ts'
import { formatId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { bytes, hex, ofKind, run } from './kit2.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)

type ScalarCase = { scalar_hex: string; point_hex: string; K_hex: string }
run<ScalarCase>('cpace.json', ofKind('scalar'), (of) => {
  const k = scalarMultVerify(bytes(of.scalar_hex), bytes(of.point_hex))
  assert.equal(hex(k), of.K_hex)
})

type SessionCase = {
  role: 'initiator' | 'responder'
  prs: string
  sid_hex: string
  ci_hex: string
  /** Absent in the vectors of the draft, which has no connections and no tags. */
  connection_hex?: string
  inviter_hex?: string
  scalar_hex: string
  ad_hex: string
  received_share_hex: string
  received_ad_hex: string
  expected_ad_hex?: string
  received_tag_hex?: string
  generator_string_hex: string
  generator_hex: string
  share_hex: string
  K_hex: string
  isk_hex: string
  mac_key_hex?: string
  tag_hex?: string
}
run<SessionCase>('cpace.json', ofKind('session'), (of) => {
  const input = { prs: utf8(of.prs), ci: bytes(of.ci_hex), sid: bytes(of.sid_hex) }
  const [scalar, ad] = [bytes(of.scalar_hex), bytes(of.ad_hex)]
  const received = { share: bytes(of.received_share_hex), ad: bytes(of.received_ad_hex) }
  const expected = bytes(of.expected_ad_hex ?? of.received_ad_hex)
  if (of.connection_hex !== undefined && of.inviter_hex !== undefined) {
    const connection = formatId(ID_PREFIX.connection, bytes(of.connection_hex))
    const inviter = formatId(ID_PREFIX.account, bytes(of.inviter_hex))
    const contact = { words: of.prs, sid: input.sid, connection, inviter }
    assert.deepEqual(contactInput(contact), input)
    assert.equal(hex(adAgain(of.role, ad)), of.ad_hex)
  }
  const { share, isk, tag } = whole(of, { input, ad, scalar, received, expected })
  const generator = calculateGenerator(input)
  const k = scalarMultVerify(scalar, received.share)
  const own = { share, ad }
  const [a, b] = of.role === 'initiator' ? [own, received] : [received, own]
  assert.equal(hex(generatorString(input)), of.generator_string_hex)
  assert.equal(hex(generator.toBytes()), of.generator_hex)
  assert.equal(hex(share), of.share_hex)
  assert.equal(hex(k), of.K_hex)
  assert.equal(hex(sessionKey(input.sid, k, a, b)), of.isk_hex)
  if (of.mac_key_hex === undefined) return
  assert.equal(hex(isk!), of.isk_hex)
  assert.equal(hex(macKey(input.sid, isk!)), of.mac_key_hex)
  assert.equal(hex(tag!), of.tag_hex)
})

/** Runs the own side of a case, as far as the case has tags. */
function whole(
  { role, received_tag_hex }: SessionCase,
  of: {
    input: ReturnType<typeof contactInput>
    ad: Uint8Array
    scalar: Uint8Array
    received: { share: Uint8Array; ad: Uint8Array }
    expected: Uint8Array
  },
): { share: Uint8Array; isk?: Uint8Array; tag?: Uint8Array } {
  const { input, ad, scalar, received, expected } = of
  const theirs = received_tag_hex === undefined ? undefined : bytes(received_tag_hex)
  if (role === 'initiator') {
    const run = initiate(input, ad, scalar)
    const { share } = run.message
    if (theirs === undefined) return { share }
    return { share, ...run.finish({ ...received, tag: theirs }, expected) }
  }
  const run = respond(input, ad, received, expected, scalar)
  return theirs === undefined ? run.reply : { ...run.reply, ...run.finish(theirs) }
}

/** Parses associated data and builds it again. */
function adAgain(role: SessionCase['role'], ad: Uint8Array): Uint8Array {
  const place = {
    account: formatId(ID_PREFIX.account, ad.subarray(0, 16)),
    seq: Number(new DataView(ad.buffer, ad.byteOffset).getBigUint64(16)),
    head: ad.subarray(24, 56),
  }
  return role === 'initiator'
    ? inviteeAd(place)
    : inviterAd({ ...place, rosterHead: ad.subarray(56) })
}

describe('the draft’s string functions', () => {
  const counted = (length: number) => Uint8Array.from({ length }, (_, i) => i)
  test('prepend_len', () => {
    assert.equal(hex(prependLength(utf8(''))), '00')
    assert.equal(hex(prependLength(utf8('1234'))), '0431323334')
    assert.equal(hex(prependLength(counted(127))), `7f${hex(counted(127))}`)
    assert.equal(hex(prependLength(counted(128))), `8001${hex(counted(128))}`)
    assert.equal(hex(prependLength(new Uint8Array(20_000)).subarray(0, 3)), 'a09c01')
  })
  test('lv_cat', () => {
    const parts = ['1234', '5', '', '6789'].map(utf8)
    assert.equal(hex(lengthValueConcat(...parts)), '04313233340135000436373839')
  })
  test('need no padding for a password longer than a block', () => {
    const input = { prs: new Uint8Array(200), ci: utf8('ci'), sid: utf8('sid') }
    const parts = [utf8('CPaceRistretto255'), input.prs, utf8(''), input.ci, input.sid]
    assert.equal(hex(generatorString(input)), hex(lengthValueConcat(...parts)))
  })
})

test('scalars are below 2^252, and use all lower bits', () => {
  const scalars = Array.from({ length: 200 }, sampleScalar)
  assert.ok(scalars.every((scalar) => scalar.length === 32 && scalar[31]! < 0x10))
  const seen = scalars.reduce((all, scalar) => all.map((byte, i) => byte | scalar[i]!))
  assert.equal(hex(seen), `${'ff'.repeat(31)}0f`)
})

test('a share is the generator times the scalar', () => {
  const input = { prs: utf8('a'), ci: utf8('b'), sid: utf8('c') }
  const three = Uint8Array.of(3, ...new Uint8Array(31))
  const generator = calculateGenerator(input)
  const { message } = initiate(input, utf8(''), three)
  const sum = generator.add(generator).add(generator)
  assert.ok(ristretto255.Point.fromBytes(message.share).equals(sum))
})

/** Tests the primitives of src/crypto, and its own functions, with published vectors. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { ed25519, x25519 } from '@noble/curves/ed25519.js'
import { expand, extract } from '@noble/hashes/hkdf.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import * as hpke from 'hpke'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { verifyJws } from '../../src/crypto/jose/jws-signature.ts'
import { Refusal } from '../../src/crypto/refusal.ts'

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex')
const run = (from: number, to: number) =>
  hex(Uint8Array.from({ length: to - from + 1 }, (_, i) => from + i))

/** Returns whether this code verifies a signature of raw parts. */
function verifies(publicKey: string, message: string, signature: string): boolean {
  const jws = {
    kid: '',
    payload: new Map(),
    signingInput: bytes(message),
    signature: bytes(signature),
  }
  try {
    verifyJws(jws, bytes(publicKey))
    return true
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return false
  }
}

describe('RFC 6238 appendix B, SHA-256 rows', () => {
  const keyed = hmac.create(sha256, new TextEncoder().encode('12345678901234567890123456789012'))
  const rows: [number, string][] = [
    [59, '46119246'],
    [1111111109, '68084774'],
    [1111111111, '67062674'],
    [1234567890, '91819424'],
    [2000000000, '90698825'],
    [20000000000, '77737706'],
  ]
  for (const [time, totp] of rows) {
    test(`time ${time}`, () => {
      const message = new Uint8Array(8)
      new DataView(message.buffer).setBigUint64(0, BigInt(Math.floor(time / 30)))
      // A cloned keyed state, as codeReader uses it.
      const mac = keyed.clone().update(message).digest()
      const at = mac[31]! & 15
      const code = (new DataView(mac.buffer).getUint32(at) & 0x7fffffff) % 10 ** 8
      assert.equal(String(code).padStart(8, '0'), totp)
    })
  }
})

describe('RFC 5869 appendix A', () => {
  const rows = [
    {
      name: 'A.1',
      ikm: '0b'.repeat(22),
      salt: run(0x00, 0x0c),
      info: run(0xf0, 0xf9),
      prk: '077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5',
      okm: '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
    },
    {
      name: 'A.2',
      ikm: run(0x00, 0x4f),
      salt: run(0x60, 0xaf),
      info: run(0xb0, 0xff),
      prk: '06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244',
      okm:
        'b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09' +
        'da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87',
    },
    {
      name: 'A.3',
      ikm: '0b'.repeat(22),
      salt: '',
      info: '',
      prk: '19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04',
      okm: '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8',
    },
  ]
  for (const { name, ikm, salt, info, prk, okm } of rows) {
    test(name, () => {
      const found = extract(sha256, bytes(ikm), bytes(salt))
      assert.equal(hex(found), prk)
      assert.equal(hex(expand(sha256, found, bytes(info), okm.length / 2)), okm)
    })
  }
})

type Signature = {
  id: number
  pk: string
  msg: string
  sig: string
  result: string
  comment: string
}
type Agreement = { id: number; public: string; private: string; shared: string; comment: string }
const vectors = <T>(file: string) =>
  JSON.parse(readFileSync(new URL(`vectors/${file}`, import.meta.url), 'utf8')) as T[]
const signatures = vectors<Signature>('wycheproof-ed25519.json')
const agreements = vectors<Agreement>('wycheproof-x25519.json')

describe('RFC 8032 section 7.1', () => {
  const long = signatures.find(({ pk, msg }) => pk.startsWith('278117fc') && msg.length === 2046)!
  const rows = [
    {
      name: 'TEST 1',
      seed: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
      pk: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
      msg: '',
      sig: 'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    },
    {
      name: 'TEST 2',
      seed: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
      pk: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
      msg: '72',
      sig: '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    },
    {
      name: 'TEST 3',
      seed: 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
      pk: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
      msg: 'af82',
      sig: '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
    },
    {
      // This message of 1023 bytes and its signature are also a row of Wycheproof.
      name: 'TEST 1024',
      seed: 'f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5',
      pk: '278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e',
      msg: long.msg,
      sig: long.sig,
    },
    {
      name: 'TEST SHA(abc)',
      seed: '833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42',
      pk: 'ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf',
      msg: 'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
      sig: 'dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704',
    },
  ]
  for (const { name, seed, pk, msg, sig } of rows) {
    test(name, () => {
      assert.equal(hex(ed25519.getPublicKey(bytes(seed))), pk)
      assert.equal(hex(ed25519.sign(bytes(msg), bytes(seed))), sig)
      assert.ok(verifies(pk, msg, sig))
      assert.ok(!verifies(pk, `${msg}00`, sig))
    })
  }
})

describe('RFC 7748', () => {
  const rows: [string, string, string, string][] = [
    [
      'section 5.2, first',
      'a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4',
      'e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c',
      'c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552',
    ],
    [
      'section 5.2, second',
      '4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d',
      'e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493',
      '95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957',
    ],
    [
      'section 6.1, Alice',
      '77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a',
      'de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f',
      '4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742',
    ],
    [
      'section 6.1, Bob',
      '5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb',
      '8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a',
      '4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742',
    ],
  ]
  for (const [name, scalar, u, shared] of rows) {
    test(name, () => assert.equal(hex(x25519.getSharedSecret(bytes(scalar), bytes(u))), shared))
  }
  test('section 5.2, iterated 1 and 1,000 times', () => {
    let k: Uint8Array = bytes('09'.padEnd(64, '0'))
    let u = k
    for (let i = 1; i <= 1000; i++) {
      ;[k, u] = [x25519.scalarMult(k, u), k]
      const after = {
        1: '422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079',
        1000: '684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51',
      }[i]
      if (after !== undefined) assert.equal(hex(k), after)
    }
  })
  test('section 6.1, the public keys', () => {
    for (const [i, [, scalar]] of rows.slice(2).entries()) {
      assert.equal(hex(x25519.getPublicKey(bytes(scalar))), rows[3 - i]![2])
    }
  })
})

describe('RFC 9180 appendix A.1.1, the suite of envelopes', () => {
  const pkR = bytes('3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d')
  const skR = bytes('4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8')
  const skE = bytes('52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736')
  const enc = '37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431'
  const options = {
    info: bytes('4f6465206f6e2061204772656369616e2055726e'),
    aad: bytes('436f756e742d30'),
  }
  const plain = '4265617574792069732074727574682c20747275746820626561757479'
  const ct =
    'f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a'

  /** Returns the KEM with the published ephemeral key in place of a random one. */
  const published: hpke.KEMFactory = () => {
    const kem = hpke.KEM_DHKEM_X25519_HKDF_SHA256()
    return {
      ...kem,
      GenerateKeyPair: async () => ({
        privateKey: await kem.DeserializePrivateKey(skE, false),
        publicKey: await kem.DeserializePublicKey(bytes(enc)),
      }),
    }
  }
  const suite = new hpke.CipherSuite(published, hpke.KDF_HKDF_SHA256, hpke.AEAD_AES_128_GCM)

  test('seals to the published ciphertext', async () => {
    const sealed = await suite.Seal(await suite.DeserializePublicKey(pkR), bytes(plain), options)
    assert.equal(hex(sealed.encapsulatedSecret), enc)
    assert.equal(hex(sealed.ciphertext), ct)
  })
  test('opens the published ciphertext', async () => {
    const key = {
      privateKey: await suite.DeserializePrivateKey(skR, false),
      publicKey: await suite.DeserializePublicKey(pkR),
    }
    assert.equal(hex(await suite.Open(key, bytes(enc), bytes(ct), options)), plain)
  })
})

test('RFC 8037 appendix A.3: the thumbprint of an Ed25519 key (RFC 7638 section 3)', () => {
  const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'
  const found = thumbprint({ crv: 'Ed25519', kty: 'OKP', x })
  assert.equal(found, 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
})

describe('Wycheproof (vectors/README.md)', () => {
  test(`Ed25519, ${signatures.length} signatures`, () => {
    assert.equal(signatures.length, 151)
    for (const { id, pk, msg, sig, result, comment } of signatures) {
      assert.equal(verifies(pk, msg, sig), result === 'valid', `${id} ${comment}`)
    }
  })
  test(`X25519, ${agreements.length} agreements`, () => {
    assert.equal(agreements.length, 518)
    for (const { id, public: u, private: scalar, shared, comment } of agreements) {
      const agree = () => hex(x25519.getSharedSecret(bytes(scalar), bytes(u)))
      // RFC 7748 section 6.1: the all-zero secret of a low-order key is refused.
      if (/^0+$/.test(shared)) assert.throws(agree, `${id} ${comment}`)
      else assert.equal(agree(), shared, `${id} ${comment}`)
    }
  })
})

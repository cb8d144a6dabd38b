/** The public half of the release key in the sources: how it is written, and what it has. */
import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pinned } from '../../build/release/pin.ts'
import { nameRecoveryKey, resetLog } from '../../src/crypto/logs/key-log-entries.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { RELEASE_KEY } from '../../src/releases/release-key.ts'
import { AT, newDevice, newRecoveryKey } from '../crypto/builders.ts'
import { ROOT } from '../e2e/program.ts'
import { keyOf, newSigner, stampFile } from './fixture.ts'

const SSH = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE4qnV2bVY1Ob4xZ7pKc3WwYIOxPzTFP7yRrXc0hZ6kH'
const JSON_FILE = 'src/releases/release-key.json'

const signer = newSigner()
const { account, device, log } = signer
const paper = newRecoveryKey()
const by = { by: device.id, kid: device.kid, seed: device.keys.sign.secret, at: AT }
const named = [...log, nameRecoveryKey({ log: verifyKeyLog(account, log), key: paper.jwk, ...by })]
const next = newDevice()
const reset = { log: verifyKeyLog(account, named), device: next.id, keys: next.keys, at: AT }
const recovered = [...named, resetLog({ ...reset, recovery: paper })]
const stolen = [...named, resetLog(reset)]

const stampBy = (entries: readonly string[], of = device) =>
  stampFile('any file', { account, log: entries, device: of }, null)

describe('pinning a release key', () => {
  it('writes the account with its key log, the key for OpenSSL and the SSH key', () => {
    const { files, hasRecoveryKey } = pinned(stampBy(named), `${SSH} holder@machine\n`, null)
    assert.deepEqual(JSON.parse(files[JSON_FILE]), { account, key_log: named })
    assert.equal(hasRecoveryKey, true)
    const { x } = createPublicKey(files['docs/release-key.pem']).export({ format: 'jwk' })
    assert.equal(x, device.keys.sign.jwk.x)
    assert.equal(
      files['docs/allowed_signers'],
      `countersign-release namespaces="countersign-release" ${SSH}\n`,
    )
  })

  it('writes a longer log, and never a shorter one', () => {
    const key = { account, key_log: named }
    for (const [stamp, expected] of [
      [stampBy(recovered, next), recovered],
      [stampBy(log), named],
    ] as const)
      assert.deepEqual(JSON.parse(pinned(stamp, SSH, key).files[JSON_FILE]).key_log, expected)
  })

  const cases: [what: string, stamp: object, key: typeof RELEASE_KEY, says: RegExp | string][] = [
    [
      'another account than the pinned one',
      stampFile('any file', newSigner(), null),
      keyOf(signer),
      /not by the pinned release key/,
    ],
    ['a reset without the recovery key', stampBy(stolen, next), keyOf(signer), /not by the pinned/],
    ['an account that was reset before', stampBy(recovered, next), null, /Use a new account/],
    [
      'a log that contradicts the pinned one',
      stampBy(stolen, next),
      { account, key_log: recovered },
      'key_log_forked',
    ],
    ['a device that was revoked', stampBy(named), { account, key_log: recovered }, 'revoked_key'],
    [
      'a key that does not belong to the account',
      stampFile('any file', { ...signer, device: newDevice() }, null),
      null,
      'unknown_signer',
    ],
  ]
  for (const [what, stamp, key, says] of cases)
    it(`refuses ${what}`, () => {
      assert.throws(
        () => pinned(stamp as ReturnType<typeof stampBy>, SSH, key),
        (error: Error) =>
          typeof says === 'string'
            ? error instanceof Refusal && error.reason === says
            : says.test(error.message),
      )
    })

  for (const text of [
    '',
    'ssh-rsa AAAA',
    `${SSH}\n${SSH}\n`,
    `cert-authority ${SSH}`,
    '-----BEGIN',
  ])
    it(`refuses an SSH key file with ${JSON.stringify(text.slice(0, 20))}`, () => {
      assert.throws(() => pinned(stampBy(log), text, null), { message: /must be one line/ })
    })
})

describe('the release key in the repository', () => {
  const files = ['docs/release-key.pem', 'docs/allowed_signers'].map((name) => join(ROOT, name))

  it('is complete, or there is none', () => {
    if (RELEASE_KEY === null) {
      assert.deepEqual(
        files.filter((file) => existsSync(file)),
        [],
      )
      return
    }
    const keyLog = verifyKeyLog(RELEASE_KEY.account, RELEASE_KEY.key_log)
    const [pem, signers] = files.map((file) => readFileSync(file, 'utf8')) as [string, string]
    const { x } = createPublicKey(pem).export({ format: 'jwk' })
    assert(
      keyLog.active.some(({ keys }) => keys.sign.x === x),
      'the key of an active device',
    )
    assert.match(signers, /^countersign-release namespaces="countersign-release" (sk-)?ssh-ed25519/)
  })

  it('has no private half', () => {
    const text = readFileSync(join(ROOT, JSON_FILE), 'utf8')
    assert.doesNotMatch(text, /PRIVATE|"d"|secret/)
  })
})

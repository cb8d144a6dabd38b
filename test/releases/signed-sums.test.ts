/** SHA256SUMS counts only with a stamp of the release key, made for a release. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nameRecoveryKey, resetLog } from '../../src/crypto/logs/key-log-entries.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { DownloadRefusal } from '../../src/releases/refusal.ts'
import { verifySums } from '../../src/releases/signed-sums.ts'
import { compareVersions } from '../../src/releases/version.ts'
import { AT, logEntry, newDevice, newRecoveryKey, sign } from '../crypto/builders.ts'
import { FILES, keyOf, newSigner, type Signer, stampFile, sumsOf } from './fixture.ts'

const SUMS = sumsOf(FILES)
const signer = newSigner()
const { account, device, log } = signer
const logOf = (entries: readonly string[]) => verifyKeyLog(account, entries)

/** Verifies SUMS; returns the version, or the reason of the refusal. */
async function resultOf(
  file: Parameters<typeof verifySums>[1],
  key = keyOf(signer),
  content = SUMS,
): Promise<string> {
  try {
    const { version, sums } = await verifySums(Buffer.from(content), file, key)
    assert.equal(sums.size, Object.keys(FILES).length)
    return version
  } catch (error) {
    if (!(error instanceof DownloadRefusal)) throw error
    assert.match(error.message, /\. (Do not use the download\. Download|Report)/)
    return error.reason
  }
}

describe('signed sums', () => {
  it('have the version of the stamp', async () => {
    assert.equal(await resultOf(stampFile(SUMS, signer)), '9.0.0')
  })

  const forger = newSigner()
  const changed = SUMS.replace(/^../, (two) => (two === '00' ? '11' : '00'))
  const good = stampFile(SUMS, signer)
  const [head, payload, signature] = good.stamp.split('.') as [string, string, string]
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  const forgedClaims = sign('stamp+jws', forger.device, claims)
  const cases: [what: string, reason: string, file: object, content?: string][] = [
    ['changed', 'digest_mismatch', good, changed],
    ['with CR LF', 'digest_mismatch', good, SUMS.replaceAll('\n', '\r\n')],
    ['cut after a line', 'digest_mismatch', good, SUMS.slice(0, SUMS.indexOf('\n') + 1)],
    ['with a line added', 'digest_mismatch', good, `${SUMS}${SUMS}`],
    ['empty', 'digest_mismatch', good, ''],
    ['signed by another account', 'other_signer', stampFile(SUMS, forger)],
    [
      'signed by another key in the name of the account',
      'kid_mismatch',
      { stamp: forgedClaims, key_log: log },
    ],
    [
      'signed by another key that copies the key id',
      'bad_signature',
      stampFile(SUMS, { ...signer, device: { ...forger.device, id: device.id, kid: device.kid } }),
    ],
    [
      'signed by other first keys in the name of the account',
      'account_mismatch',
      stampFile(SUMS, {
        account,
        device: forger.device,
        log: [logEntry(account, [], 'add', forger.device, forger.device)],
      }),
    ],
    [
      'with another payload under the signature',
      'bad_signature',
      {
        ...good,
        stamp: [
          head,
          Buffer.from(JSON.stringify(claims).replace('9.0.0', '9.9.9')).toString('base64url'),
          signature,
        ].join('.'),
      },
    ],
    ['with a cut stamp', 'malformed', { ...good, stamp: `${head}.${payload}` }],
    ['with the stamp of a text', 'not_a_release', stampFile(SUMS, signer, null)],
    ['with the stamp of another purpose', 'not_a_release', stampFile(SUMS, signer, 'notes 9.0.0')],
    [
      'with a version that is none',
      'not_a_release',
      stampFile(SUMS, signer, 'countersignd 9.0.0-rc.1'),
    ],
    ['with a stamp of bad sums', 'bad_sums', stampFile('../x\n', signer), '../x\n'],
  ]
  for (const [what, reason, file, content] of cases)
    it(`${what}: ${reason}`, async () => {
      const result = await resultOf(file as typeof good, keyOf(signer), content)
      assert.equal(result, reason)
    })
})

describe('signed sums after a change of the release key', () => {
  const second = newDevice()
  const added = [...log, logEntry(account, log, 'add', second, device)]
  const revoked = [...added, logEntry(account, added, 'revoke', device, second)]
  const paper = newRecoveryKey()
  const by = { by: device.id, kid: device.kid, seed: device.keys.sign.secret, at: AT }
  const named = [...log, nameRecoveryKey({ log: logOf(log), key: paper.jwk, ...by })]
  const next = newDevice()
  const reset = { log: logOf(named), device: next.id, keys: next.keys, at: AT }
  const recovered = [...named, resetLog({ ...reset, recovery: paper })]
  const stolen = [...named, resetLog(reset)]

  const cases: [what: string, signer: Signer, pinned: readonly string[], result: string][] = [
    ['by a device added later', { account, device: second, log: added }, log, '9.0.0'],
    ['by the first device, still in the log', { account, device, log: added }, added, '9.0.0'],
    ['by a revoked device', { account, device, log: revoked }, log, 'revoked_signer'],
    [
      'by a revoked device with the log from before, to a program from before',
      { account, device, log },
      log,
      '9.0.0',
    ],
    [
      'by a revoked device with the log from before, to a program that contains the revocation',
      { account, device, log },
      revoked,
      'revoked_key',
    ],
    [
      'by a device after a reset with the recovery key',
      { account, device: next, log: recovered },
      log,
      '9.0.0',
    ],
    ['by the device before that reset', { account, device, log: named }, recovered, 'revoked_key'],
    [
      'by a device after a reset without the recovery key',
      { account, device: next, log: stolen },
      log,
      'reset_without_recovery_key',
    ],
    [
      'by a thief of the device, with a log that contradicts the one in the program',
      { account, device: next, log: stolen },
      recovered,
      'key_log_forked',
    ],
  ]
  for (const [what, at, pinned, result] of cases)
    it(`${what}: ${result}`, async () => {
      assert.equal(await resultOf(stampFile(SUMS, at), { account, key_log: pinned }), result)
    })
})

it('versions are compared by their numbers', () => {
  const sorted = ['0.0.9', '0.1.0', '0.2.0', '0.10.0', '1.0.0', '1.0.10', '10.0.0']
  for (const [at, a] of sorted.entries())
    for (const [other, b] of sorted.entries())
      assert.equal(Math.sign(compareVersions(a, b)), Math.sign(at - other), `${a} ${b}`)
})

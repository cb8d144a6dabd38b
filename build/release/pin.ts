/**
 * Writes the public half of the release key into the sources: the account for the program, its
 * signing key for OpenSSL, and the SSH key for ssh-keygen.
 *
 *   node build/release/pin.ts STAMP SSH_PUBLIC_KEY
 *
 * STAMP is the stamp of any file by the release account. docs/releasing.md has the steps.
 */
import { createPublicKey } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type StampFacts, type StampFile, verifyStamp } from '../../src/crypto/stamp.ts'
import { RELEASE_KEY, type ReleaseKey } from '../../src/releases/release-key.ts'
import { isByReleaseKey } from '../../src/releases/signed-sums.ts'
import { SSH_SIGNER } from './sign.ts'

const SSH_KEY = /^((?:sk-)?ssh-ed25519(?:@openssh\.com)? [A-Za-z0-9+/]+=*)(?: .*)?\n?$/

/** Returns the key in the file of an SSH public key, without its comment. */
function sshKeyIn(text: string): string {
  const [, key] = SSH_KEY.exec(text) ?? []
  if (key === undefined) throw new Error('The SSH key must be one line of the type ssh-ed25519.')
  return key
}

/**
 * Verifies a stamp of the release account.
 * @param key the pinned key; null if there is none
 * @throws if the stamp is not by this key, or its key log contradicts the pinned one
 */
function verified(stamp: StampFile, key: ReleaseKey | null): StampFacts {
  const facts = verifyStamp(stamp, {
    remembered: (account) => (account === key?.account ? key.key_log : []),
  })
  if (key !== null && !isByReleaseKey(key, facts))
    throw new Error(
      'The stamp is not by the pinned release key. To pin another account, first write null into src/releases/release-key.json.',
    )
  if (key === null && facts.generation > 1)
    throw new Error('The account was reset before it was first pinned. Use a new account.')
  return facts
}

/**
 * Returns the contents of the files to write, by path.
 * @param sshPublicKey the content of the file
 * @param key the pinned key; null if there is none
 */
export function pinned(stamp: StampFile, sshPublicKey: string, key: ReleaseKey | null) {
  const { keyLog, device, payload } = verified(stamp, key)
  const { kty, crv, x } = keyLog.devices.get(device)!.keys.sign
  const pem = createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
  const release: ReleaseKey = { account: payload.iss, key_log: keyLog.entries }
  return {
    hasRecoveryKey: keyLog.recovery !== null,
    files: {
      'src/releases/release-key.json': `${JSON.stringify(release, null, 2)}\n`,
      'docs/release-key.pem': pem.export({ type: 'spki', format: 'pem' }).toString(),
      'docs/allowed_signers': `${SSH_SIGNER} namespaces="${SSH_SIGNER}" ${sshKeyIn(sshPublicKey)}\n`,
    },
  }
}

if (import.meta.main) {
  const [stamp = '', ssh] = process.argv.slice(2)
  try {
    if (ssh === undefined) throw new Error('Usage: node build/release/pin.ts STAMP SSH_PUBLIC_KEY')
    const { files, hasRecoveryKey } = pinned(
      JSON.parse(await readFile(stamp, 'utf8')) as StampFile,
      await readFile(ssh, 'utf8'),
      RELEASE_KEY,
    )
    for (const [path, content] of Object.entries(files))
      await writeFile(join(import.meta.dirname, '../..', path), content)
    process.stdout.write(`Written: ${Object.keys(files).join(', ')}. Commit them.\n`)
    if (!hasRecoveryKey)
      process.stdout.write(
        'The account has no recovery key. If its only device is lost, no program accepts another one. Run "countersignd recovery create", and pin a new stamp.\n',
      )
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    process.exitCode = 1
  }
}

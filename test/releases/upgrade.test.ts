/** `upgrade --check` and `stamp verify` with the release key that the program contains. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { VERSION } from '../../src/runtime/version.ts'
import type { Json } from '../e2e/caller.ts'
import { exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { EXECUTABLE, FILES, keyOf, newSigner, stampFile, sumsOf, writeRelease } from './fixture.ts'
import { pinReleaseKey } from './pinned-key.ts'
import { terminal } from '../cli/terminal.ts'

const signer = newSigner()
pinReleaseKey(keyOf(signer))

/** Checks a file of a release; returns the result for people and for scripts. */
async function check(t: TestContext, path: string, ...more: string[]) {
  const state = join(freshFolder(t), 'none')
  const words = await terminal(state)(['upgrade', '--check', path, ...more])
  const script = await terminal(state)(['upgrade', '--check', path, ...more, '--json'])
  assert.equal(script.code, words.code)
  assert(!existsSync(state), 'the check needs no state folder')
  return { ...words, json: (script.out === '' ? {} : JSON.parse(script.out)) as Json }
}

type Release = NonNullable<Parameters<typeof writeRelease>[2]>
type Change = NonNullable<Release['change']>

describe('upgrade --check: a file that the release key signed', () => {
  const older = '0.0.1'
  const cases: [
    what: string,
    file: string,
    release: Release,
    reason: string | null,
    says: RegExp,
  ][] = [
    ['a newer executable', EXECUTABLE, {}, null, /^version +9\.0\.0 \(this program: /m],
    [
      'an executable of the same version',
      EXECUTABLE,
      { context: `countersignd ${VERSION}` },
      null,
      /^to install +chmod \+x '\/.+' && sudo '\/.+' service install$/m,
    ],
    [
      'an executable of an older release, offered as a new one',
      EXECUTABLE,
      { context: `countersignd ${older}` },
      'older_version',
      /, but it is version 0\.0\.1, and this program is version \d/,
    ],
    [
      'an executable for another platform',
      'countersignd-linux-riscv64',
      {},
      'other_platform',
      /, but it is for linux-riscv64, and this machine is /,
    ],
    ['a text', 'LICENSES.txt', {}, 'no_program', /, but it is no program or package/],
  ]
  if (process.platform === 'linux' && process.arch === 'x64')
    cases.push([
      'a package',
      'countersignd_9.0.0_amd64.deb',
      {},
      null,
      /^to install +sudo apt install '\/.+\.deb'$/m,
    ])
  for (const [what, file, release, reason, says] of cases)
    it(`${what}: ${reason ?? 'good'}`, async (t) => {
      const folder = writeRelease(t, signer, release)
      const before = readdirSync(folder)
      const { code, out, json } = await check(t, join(folder, file))
      assert.equal(code, reason === null ? EXIT.ok : EXIT.inconclusive, out)
      assert.equal(out.startsWith('Good: '), reason === null, out)
      assert.match(out, says)
      assert.deepEqual(
        [json.valid, json.conclusive, json.upgrade, json.reason, json.file, json.account_id],
        [true, true, reason === null, reason, file, signer.account],
      )
      assert.equal(json.running_version, VERSION)
      assert.deepEqual(readdirSync(folder), before)
    })

  it('with SHA256SUMS in another folder: --sums', async (t) => {
    const folder = writeRelease(t, signer)
    const other = join(freshFolder(t), EXECUTABLE)
    renameSync(join(folder, EXECUTABLE), other)
    assert.equal((await check(t, other)).code, EXIT.usage)
    const { code, json } = await check(t, other, '--sums', join(folder, 'SHA256SUMS'))
    assert.deepEqual([code, json.version], [EXIT.ok, '9.0.0'])
  })

  it('with a quote in the folder: the command to install it is quoted', async (t) => {
    const folder = join(freshFolder(t), "it's; id")
    renameSync(writeRelease(t, signer), folder)
    const { out } = await check(t, join(folder, EXECUTABLE))
    const [, quoted = ''] = /^to install +chmod \+x ('.*') && sudo/m.exec(out) ?? []
    const { stdout } = await exec('sh', ['-c', `printf %s ${quoted}`])
    assert.equal(stdout, join(folder, EXECUTABLE))
  })
})

describe('upgrade --check: a file that must not be used', () => {
  const sums = sumsOf(FILES)
  const few = sumsOf({ 'LICENSES.txt': FILES['LICENSES.txt']! })
  const forger = newSigner()
  const changed = 'another program'
  const forged = sumsOf({ ...FILES, [EXECUTABLE]: changed })
  const stampOf = (...of: Parameters<typeof stampFile>) => JSON.stringify(stampFile(...of))
  const cases: [what: string, change: Change, reason: string][] = [
    ['changed', { [EXECUTABLE]: changed }, 'sum_mismatch'],
    ['cut short', { [EXECUTABLE]: FILES[EXECUTABLE]!.slice(0, -1) }, 'sum_mismatch'],
    ['empty', { [EXECUTABLE]: '' }, 'sum_mismatch'],
    ['another file of the release', { [EXECUTABLE]: FILES['LICENSES.txt']! }, 'sum_mismatch'],
    ['with forged sums', { [EXECUTABLE]: changed, SHA256SUMS: forged }, 'digest_mismatch'],
    [
      'with forged sums and their stamp by another account',
      {
        [EXECUTABLE]: changed,
        SHA256SUMS: forged,
        'SHA256SUMS.stamp': stampOf(forged, forger),
      },
      'other_signer',
    ],
    [
      'with the stamp of another release',
      { 'SHA256SUMS.stamp': stampOf(`${sums}x`, signer, 'countersignd 0.1.0') },
      'digest_mismatch',
    ],
    ['with CR LF in the sums', { SHA256SUMS: sums.replaceAll('\n', '\r\n') }, 'digest_mismatch'],
    [
      'with a stamp that is no release',
      { 'SHA256SUMS.stamp': stampOf(sums, signer, 'my sums') },
      'not_a_release',
    ],
    [
      'that the sums do not list',
      { SHA256SUMS: few, 'SHA256SUMS.stamp': stampOf(few, signer) },
      'not_listed',
    ],
  ]
  for (const [what, change, reason] of cases)
    it(`${what}: ${reason}`, async (t) => {
      const folder = writeRelease(t, signer, { change })
      const { code, out, json } = await check(t, join(folder, EXECUTABLE))
      assert.equal(code, EXIT.notVerified, out)
      assert.match(out, new RegExp(`^Not good \\(${reason}\\): ${EXECUTABLE}: .+\\.\\n$`))
      assert.deepEqual(json, { valid: false, conclusive: true, reason })
    })

  it('renamed: the message has the right name', async (t) => {
    const folder = writeRelease(t, signer)
    renameSync(join(folder, EXECUTABLE), join(folder, 'countersignd (1)'))
    const { code, out } = await check(t, join(folder, 'countersignd (1)'))
    assert.equal(code, EXIT.notVerified)
    assert.match(
      out,
      new RegExp(`\\(not_listed\\): .* Rename the file to ${EXECUTABLE}, and check`),
    )
  })

  it('with a name that a terminal reads: one line', async (t) => {
    const folder = writeRelease(t, signer)
    const path = join(folder, 'x\nGood: \u001b[32m')
    writeFileSync(path, 'x')
    const { code, out } = await check(t, path)
    assert.equal(code, EXIT.notVerified)
    assert.match(out, /^Not good \(not_listed\): .*\n$/)
    assert(!out.includes('\u001b'))
  })

  it('is never run', async (t) => {
    const folder = writeRelease(t, signer)
    const proof = join(folder, 'was-run')
    for (const name of [EXECUTABLE, 'LICENSES.txt']) {
      writeFileSync(join(folder, name), `#!/bin/sh\ntouch '${proof}'\n`)
      chmodSync(join(folder, name), 0o755)
      await check(t, join(folder, name))
    }
    assert(!existsSync(proof))
  })
})

describe('upgrade --check: what cannot be read', () => {
  const cases: [what: string, change: Change, says: RegExp][] = [
    ['no file', { [EXECUTABLE]: null }, /There is no file ".*countersignd-/],
    ['no sums', { SHA256SUMS: null }, /There is no file ".*SHA256SUMS"/],
    ['no stamp', { 'SHA256SUMS.stamp': null }, /There is no file ".*SHA256SUMS\.stamp"/],
    [
      'a stamp that is none',
      { 'SHA256SUMS.stamp': '<html>' },
      /SHA256SUMS\.stamp" is not a stamp\. Download it again\.$/m,
    ],
    ['sums of 2 MiB', { SHA256SUMS: 'x'.repeat(2 ** 21) }, /has 2097152 bytes/],
    ['a stamp of 2 MiB', { 'SHA256SUMS.stamp': 'x'.repeat(2 ** 21) }, /has 2097152 bytes/],
  ]
  for (const [what, change, says] of cases)
    it(`${what}: wrong usage`, async (t) => {
      const folder = writeRelease(t, signer, { change })
      const { code, out, err } = await check(t, join(folder, EXECUTABLE))
      assert.deepEqual([code, out], [EXIT.usage, ''])
      assert.match(err, says)
    })

  it('a folder, and a device that never ends: wrong usage', async (t) => {
    const folder = writeRelease(t, signer)
    mkdirSync(join(folder, 'folder'))
    symlinkSync('/dev/zero', join(folder, 'zero'))
    for (const name of ['folder', 'zero']) {
      const { code, err } = await check(t, join(folder, name))
      assert.equal(code, EXIT.usage)
      assert.match(err, /is not a regular file/)
    }
  })

  it('without --check: wrong usage', async (t) => {
    const { code, err } = await terminal(freshFolder(t))(['upgrade'])
    assert.equal(code, EXIT.usage)
    assert.match(err, /Missing: --check\. Example: countersignd upgrade --check /)
  })
})

it('upgrade --check reads a file of 300 MB in pieces', async (t) => {
  const folder = writeRelease(t, signer)
  truncateSync(join(folder, EXECUTABLE), 300_000_000)
  const before = process.resourceUsage().maxRSS
  const { out } = await terminal(folder)(['upgrade', '--check', join(folder, EXECUTABLE)])
  assert.match(out, /^Not good \(sum_mismatch\)/)
  const grown = process.resourceUsage().maxRSS - before
  assert(grown < 100_000, `the process grew by ${grown} kB`)
})

describe('stamp verify: SHA256SUMS of a release', () => {
  async function verify(t: TestContext, folder: string) {
    const paths = ['SHA256SUMS', 'SHA256SUMS.stamp'].map((name) => join(folder, name))
    const cli = terminal(join(freshFolder(t), 'none'))
    const { code, out } = await cli(['stamp', 'verify', ...paths])
    const json = JSON.parse((await cli(['stamp', 'verify', ...paths, '--json'])).out) as Json
    return { code, out, json }
  }

  it('is good on a machine without an account', async (t) => {
    const { code, out, json } = await verify(t, writeRelease(t, signer))
    assert.equal(code, EXIT.ok, out)
    assert.match(
      out,
      /^account +acc_\w+ \(the release key of Countersign, which this program contains\)$/m,
    )
    assert.match(out, /^context +countersignd 9\.0\.0$/m)
    assert.deepEqual([json.valid, json.signer], [true, 'release'])
  })

  it('of another account: the signer is unknown', async (t) => {
    const { code, json } = await verify(t, writeRelease(t, newSigner()))
    assert.deepEqual([code, json.signer], [EXIT.inconclusive, 'unknown'])
  })

  it('changed: not good', async (t) => {
    const folder = writeRelease(t, signer)
    const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8')
    writeFileSync(join(folder, 'SHA256SUMS'), sums.replace('LICENSES', 'LICENCES'))
    const { code, json } = await verify(t, folder)
    assert.deepEqual([code, json.reason], [EXIT.notVerified, 'digest_mismatch'])
  })
})

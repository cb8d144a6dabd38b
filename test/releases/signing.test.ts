/**
 * A release is signed by a real account and a real SSH key, and verified by other programs with the
 * commands of docs/verify-download.md.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { pinned } from '../../build/release/pin.ts'
import { SSH_SIGNER, signRelease } from '../../build/release/sign.ts'
import type { ReleaseKey } from '../../src/releases/release-key.ts'
import { verifySums } from '../../src/releases/signed-sums.ts'
import type { StampFile } from '../../src/crypto/stamp.ts'
import type { Json } from '../e2e/caller.ts'
import { countersignd, environment, exec, folder, ROOT } from '../e2e/program.ts'
import { isInstalled } from '../installed.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { EXECUTABLE, FILES, keyOf, newSigner, stampFile, sumsOf } from './fixture.ts'

const MAIN = join(ROOT, 'src/main.ts')
const needed = ['ssh-keygen', 'openssl', 'sha256sum'].filter((name) => !isInstalled(name))
const skip = needed.length > 0 && `no ${needed.join(', ')}`

describe('a signed release', { skip }, () => {
  const dir = folder()
  const path = (name: string) => join(dir.path, name)
  const state = path('state')
  const unsigned = path('unsigned')
  const signed = path('signed')
  let key: ReleaseKey
  let keyFiles: ReturnType<typeof pinned>['files']
  const allowedSigners = path('allowed_signers')
  const textOf = (name: string) => readFileSync(join(signed, name), 'utf8')
  const stampIn = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as StampFile
  const program = [process.execPath, MAIN] as const
  const release = (more: object) => ({
    folder: unsigned,
    version: '9.0.0',
    key,
    sshKey: path('ssh'),
    allowedSigners,
    program,
    env: environment(state),
    ...more,
  })
  const newSshKey = (name: string) =>
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'x y', '-f', path(name)])

  before(async () => {
    mkdirSync(state, { mode: 0o700 })
    mkdirSync(unsigned)
    for (const [name, text] of Object.entries({ ...FILES, SHA256SUMS: sumsOf(FILES) }))
      writeFileSync(join(unsigned, name), text)
    const words = ['stamp', join(unsigned, 'LICENSES.txt'), '--out', path('first.stamp')]
    const { code, stderr } = await countersignd(words, state)
    assert.equal(code, 0, stderr)
    newSshKey('ssh')
    const ssh = readFileSync(path('ssh.pub'), 'utf8')
    keyFiles = pinned(stampIn(path('first.stamp')), ssh, null).files
    key = JSON.parse(keyFiles['src/releases/release-key.json']) as ReleaseKey
    writeFileSync(allowedSigners, keyFiles['docs/allowed_signers'])
    cpSync(unsigned, signed, { recursive: true })
    await signRelease(release({ folder: signed }))
  })
  after(() => dir.remove())

  it('has a stamp of the pinned account and the version', async () => {
    const sums = Buffer.from(textOf('SHA256SUMS'))
    const { version } = await verifySums(sums, stampIn(join(signed, 'SHA256SUMS.stamp')), key)
    assert.equal(version, '9.0.0')
  })

  it('contains no private key, and its files are those of before', () => {
    const added = readdirSync(signed).filter((name) => !readdirSync(unsigned).includes(name))
    assert.deepEqual(added, ['SHA256SUMS.sig', 'SHA256SUMS.stamp'])
    assert.deepEqual(Object.keys(JSON.parse(textOf('SHA256SUMS.stamp')) as Json).toSorted(), [
      'key_log',
      'receipt',
      'stamp',
    ])
    assert.match(textOf('SHA256SUMS.sig'), /^-----BEGIN SSH SIGNATURE-----\n/)
  })

  describe('is not made, and nothing is written into the folder', () => {
    /** A program that writes a prepared stamp in place of the real one, which is slower. */
    function stub(stamp: object): string[] {
      const script = path('stub.mjs')
      writeFileSync(path('prepared.json'), JSON.stringify(stamp))
      writeFileSync(
        script,
        `import { copyFileSync } from 'node:fs'
copyFileSync(${JSON.stringify(path('prepared.json'))}, process.argv[process.argv.indexOf('--out') + 1])`,
      )
      return [process.execPath, script]
    }
    const other = newSigner()
    const good = () => stub({ ...stampFile(sumsOf(FILES), other) })
    const cases: [what: string, more: () => object, says: RegExp, change?: (at: string) => void][] =
      [
        ['without a pinned key', () => ({ key: null }), /contains no release key\. Nothing was/],
        ['with a version that is none', () => ({ version: '9.0.0-rc.1' }), /three numbers, not 9/],
        [
          'with files of another version',
          () => ({ version: '9.0.1' }),
          /RELEASE-NOTES\.md is not that of version 9\.0\.1/,
        ],
        [
          'with an empty state folder',
          () => ({ env: environment(freshPlace()) }),
          /SVC_STATE_DIR must name the state folder/,
        ],
        [
          'with another account',
          () => ({ program: stub(stampFile(sumsOf(FILES), newSigner())) }),
          /state folder is not the release account acc_/,
        ],
        [
          'with a stamp of another file',
          () => ({ key: keyOf(other), program: stub(stampFile('x', other)) }),
          /is not the stamped file/,
        ],
        [
          'if the program fails',
          () => ({ program: [process.execPath, '-e', 'process.exit(3)'] }),
          /ended with 3\. Nothing was signed/,
        ],
        [
          'with an SSH key that is not among the allowed ones',
          () => ({ key: keyOf(other), program: good(), sshKey: path('other') }),
          /ssh-keygen -q -Y verify .* ended with 255/,
        ],
        [
          'with a file that is not listed',
          () => ({}),
          /more: SHA256SUMS does not list/,
          (at) => writeFileSync(join(at, 'more'), 'x'),
        ],
        [
          'without a listed file',
          () => ({}),
          /lacks LICENSES\.txt, which SHA256SUMS lists/,
          (at) => rmSync(join(at, 'LICENSES.txt')),
        ],
        [
          'without the notes',
          () => ({}),
          /lacks RELEASE-NOTES\.md, which SHA256SUMS lists/,
          (at) => rmSync(join(at, 'RELEASE-NOTES.md')),
        ],
        [
          'with a changed file',
          () => ({}),
          new RegExp(`${EXECUTABLE}: The content of this file is not`),
          (at) => writeFileSync(join(at, EXECUTABLE), 'x'),
        ],
        [
          'a second time',
          () => ({}),
          /already has SHA256SUMS\.sig/,
          (at) => writeFileSync(join(at, 'SHA256SUMS.sig'), 'x'),
        ],
        [
          'with a path in the sums',
          () => ({}),
          /line 1 is not a sum/,
          (at) => writeFileSync(join(at, 'SHA256SUMS'), sumsOf({ '../x': 'x' })),
        ],
      ]
    const freshPlace = () => {
      mkdirSync(path('empty'), { recursive: true })
      return path('empty')
    }
    before(() => newSshKey('other'))
    for (const [what, more, says, change] of cases)
      it(what, async (t) => {
        const at = freshFolder(t)
        cpSync(unsigned, at, { recursive: true })
        change?.(at)
        const found = readdirSync(at)
        await assert.rejects(signRelease(release({ folder: at, ...more() })), { message: says })
        assert.deepEqual(readdirSync(at), found)
      })
  })

  describe('by the commands of docs/verify-download.md', () => {
    const text = readFileSync(join(ROOT, 'docs/verify-download.md'), 'utf8')
    const blocks = [...text.matchAll(/^```(sh|js)\n([^]*?)^```$/gm)].map(([, kind, code]) => ({
      kind: kind!,
      code: code!,
    }))
    const blockWith = (words: string) => {
      const found = blocks.filter(({ code }) => code.includes(words))
      assert.equal(found.length, 1, words)
      return found[0]!
    }
    const ways = ['ssh-keygen', 'openssl', 'jose'] as const

    /** Copies the release and the public keys into a folder. */
    function downloaded(t: TestContext): string {
      const at = freshFolder(t)
      cpSync(signed, at, { recursive: true })
      writeFileSync(join(at, 'allowed_signers'), keyFiles['docs/allowed_signers'])
      writeFileSync(join(at, 'release-key.pem'), keyFiles['docs/release-key.pem'])
      return at
    }

    /** Runs a block of the document in a folder. */
    async function run({ kind, code }: (typeof blocks)[number], at: string, env = {}) {
      if (kind === 'sh')
        return exec('sh', ['-c', `cd "$1" || exit 99\n${code}`, 'sh', at], {
          env: { ...environment(join(at, 'none')), ...env },
        })
      symlinkSync(join(ROOT, 'node_modules'), join(at, 'node_modules'))
      writeFileSync(join(at, 'verify.mjs'), code)
      return exec('sh', ['-c', `cd "$1" && exec "$2" verify.mjs`, 'sh', at, process.execPath])
    }

    const printed = {
      'ssh-keygen': new RegExp(`^Good "${SSH_SIGNER}" signature [^]*^${EXECUTABLE}: OK$`, 'm'),
      openssl: new RegExp(`^Signature Verified [^]*"ctx":"countersignd 9\\.0\\.0"[^]*: OK$`, 'm'),
      jose: /^countersignd 9\.0\.0$/m,
    }
    for (const way of ways)
      it(`${way}: is good`, async (t) => {
        const { code, stdout, stderr } = await run(blockWith(way), downloaded(t))
        assert.equal(code, 0, stderr)
        assert.match(stdout, printed[way])
      })

    it('ssh-keygen, openssl: is bad if a file was changed', async (t) => {
      for (const way of ['ssh-keygen', 'openssl']) {
        const at = downloaded(t)
        writeFileSync(join(at, EXECUTABLE), 'x')
        const { code, stdout } = await run(blockWith(way), at)
        assert.notEqual(code, 0, way)
        assert.match(stdout, new RegExp(`^${EXECUTABLE}: FAILED$`, 'm'))
      }
    })

    const forged = sumsOf({ ...FILES, [EXECUTABLE]: 'x' })
    const forger = newSigner()
    const forgeries: [what: string, files: () => Record<string, string>][] = [
      ['changed sums', () => ({ [EXECUTABLE]: 'x', SHA256SUMS: forged })],
      [
        'changed sums with signatures of other keys',
        () => {
          execFileSync('ssh-keygen', [
            '-q',
            '-Y',
            'sign',
            '-f',
            path('forger'),
            '-n',
            SSH_SIGNER,
            path('forged'),
          ])
          return {
            [EXECUTABLE]: 'x',
            SHA256SUMS: forged,
            'SHA256SUMS.stamp': JSON.stringify(stampFile(forged, forger), null, 2),
            'SHA256SUMS.sig': readFileSync(path('forged.sig'), 'utf8'),
          }
        },
      ],
      [
        'signatures of another file by the same keys',
        () => {
          const sign = ['-q', '-Y', 'sign', '-f', path('ssh'), '-n', SSH_SIGNER, path('notes')]
          execFileSync('ssh-keygen', sign)
          return {
            'SHA256SUMS.stamp': readFileSync(path('first.stamp'), 'utf8'),
            'SHA256SUMS.sig': readFileSync(path('notes.sig'), 'utf8'),
          }
        },
      ],
    ]
    before(() => {
      newSshKey('forger')
      writeFileSync(path('forged'), forged)
      writeFileSync(path('notes'), 'notes')
    })
    for (const [what, files] of forgeries)
      it(`all: is bad with ${what}`, async (t) => {
        const changed = files()
        for (const way of ways) {
          const at = downloaded(t)
          for (const [name, content] of Object.entries(changed))
            writeFileSync(join(at, name), content)
          const { code, stdout } = await run(blockWith(way), at)
          assert.notEqual(code, 0, `${way}: ${stdout}`)
          assert.doesNotMatch(stdout, printed[way])
        }
      })

    it('ssh-keygen: is bad in another namespace', async (t) => {
      const at = downloaded(t)
      const words = ['-Y', 'sign', '-f', path('ssh'), '-n', 'file']
      const input = readFileSync(join(at, 'SHA256SUMS'))
      const signature = execFileSync('ssh-keygen', words, { input, stdio: 'pipe' })
      writeFileSync(join(at, 'SHA256SUMS.sig'), signature)
      const { code } = await run(blockWith('ssh-keygen'), at)
      assert.notEqual(code, 0)
      const asFile = {
        kind: 'sh',
        code: blockWith('ssh-keygen').code.replace('-n countersign-release', '-n file'),
      }
      assert.notEqual((await run(asFile, at)).code, 0, 'the key is allowed in one namespace')
    })

    it('countersignd: is good', { skip: !EXECUTABLE.endsWith('linux-x64') }, async (t) => {
      const at = downloaded(t)
      const bin = join(freshFolder(t), 'countersignd')
      const pin = join(import.meta.dirname, 'pin.ts')
      writeFileSync(
        bin,
        `#!/bin/sh\nexec '${process.execPath}' --import '${pin}' '${MAIN}' "$@"\n`,
        {
          mode: 0o755,
        },
      )
      const env = {
        PATH: `${join(bin, '..')}:${process.env['PATH']}`,
        TEST_RELEASE_KEY: JSON.stringify(key),
      }
      for (const [words, says] of [
        ['upgrade --check', /^Good: [^]*^version +9\.0\.0 /m],
        ['stamp verify', /^Good: [^]*the release key of Countersign/m],
      ] as const) {
        const { code, stdout, stderr } = await run(blockWith(`countersignd ${words}`), at, env)
        assert.equal(code, 0, stderr)
        assert.match(stdout, says)
      }
    })
  })
})

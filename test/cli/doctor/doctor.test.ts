/** `doctor` over really broken installations: the report line, the exit code and the remedy. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { streams, terminal } from '../terminal.ts'
import { run } from '../../../src/cli/run.ts'
import { FOLDERS } from './doctor-broken.ts'
import { SURROUNDINGS } from './doctor-surroundings.ts'
import { type Expected, copyOf, examine, findingOf, wholeFolder } from '../installation.ts'

const isRoot = process.getuid?.() === 0

let whole: Awaited<ReturnType<typeof wholeFolder>>
before(async () => {
  whole = await wholeFolder()
})
after(() => whole.remove())

describe('doctor in a broken installation', { concurrency: 2 }, () => {
  for (const { name, skip = false, by, says, mends = false, code = 1 } of [
    ...FOLDERS,
    ...SURROUNDINGS,
  ])
    it(name, { skip }, async (t) => {
      const dir = copyOf(t, whole.path)
      const env = by(dir) ?? {}
      const canaries = Object.keys(env).length === 0 ? ['canary'] : []
      const found = await examine(dir, env, canaries)
      const lines = says.map((expected) => findingOf(found.checks, expected))
      assert.equal(found.code, code)
      if (!mends) return
      for (const { remedy } of lines) execFileSync('sh', ['-c', remedy ?? ''])
      const again = await examine(dir, env)
      assert.deepEqual(
        again.checks.filter(({ state }) => state !== 'ok'),
        [],
      )
    })
})

describe('doctor without a state folder', { concurrency: 2 }, () => {
  it('a missing folder is not created, and not an error', async (t) => {
    const dir = join(freshFolder(t), 'a', 'b')
    const { code, checks } = await examine(dir)
    assert.equal(code, 0)
    findingOf(checks, ['ok', 'state folder', /does not exist yet/])
    assert(!existsSync(dirname(dir)))
  })

  it('a missing folder that cannot be created', async () => {
    const { checks } = await examine('/dev/null/state')
    findingOf(checks, ['fail', 'state folder', /cannot write to/])
  })

  const instead: [name: string, by: (dir: string) => void, expected: Expected][] = [
    [
      'a link',
      (dir) => symlinkSync(tmpdir(), dir),
      ['fail', 'state folder', /is a link/, /readlink -f/],
    ],
    [
      'a file',
      (dir) => writeFileSync(dir, ''),
      ['fail', 'state folder', /is not a folder/, /Move it elsewhere/],
    ],
  ]
  for (const [name, by, expected] of instead)
    it(`${name} in its place`, async (t) => {
      const dir = join(freshFolder(t), 'state')
      by(dir)
      const { checks } = await examine(dir)
      findingOf(checks, expected)
    })

  it('without a home folder the other checks run', async () => {
    const { result, io } = streams()
    const env = { PATH: process.env['PATH'], XDG_STATE_HOME: '', SVC_STATE_DIR: 'relative' }
    assert.equal(await run(['doctor'], { ...io, env }), 1)
    assert.match(
      result.out,
      /^fail {2}configuration +SVC_STATE_DIR is "relative": it must be an absolute path/m,
    )
    assert.match(result.out, /^ok {4}program /m)
  })
})

it('doctor on a full disk', { skip: !isRoot && 'only root mounts' }, async (t) => {
  const top = mkdtempSync(join(tmpdir(), 'countersign-full-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'tmpfs', top])
  t.after(() => {
    execFileSync('umount', [top])
    rmSync(top, { recursive: true })
  })
  const { checks } = await examine(top)
  findingOf(checks, ['fail', 'disk', /free/, /^Free some space/])
})

describe('doctor at a terminal', () => {
  const shownTo = async (env: NodeJS.ProcessEnv, dir: string) => {
    const { result, io } = streams()
    const stdout = { ...io.stdout, isTTY: true }
    await run(['doctor'], {
      ...io,
      stdout,
      env: { SVC_STATE_DIR: dir, SVC_HTTP_PORT: '0', SVC_ACCOUNT_PORT: '0', ...env },
    })
    return result.out
  }

  it('prints colours, unless NO_COLOR is set', async (t) => {
    const dir = join(freshFolder(t), 'state')
    assert((await shownTo({}, dir)).startsWith('\u001b[32mok  \u001b[39m  configuration'))
    assert(!(await shownTo({ NO_COLOR: '1' }, dir)).includes('\u001b'))
  })

  it('removes terminal controls from file names', async (t) => {
    const dir = copyOf(t, whole.path)
    const path = join(dir, 'keychain', 'a\u001b[2J')
    renameSync(join(dir, 'secret'), path)
    chmodSync(path, 0o644)
    const { out } = await terminal(dir)(['doctor'])
    assert(out.includes('is accessible to other users') && !out.includes('\u001b'))
  })
})

it('doctor accepts no unknown part and no other option', async (t) => {
  const run = terminal(join(freshFolder(t), 'state'))
  for (const args of [['--parts', 'x'], ['--parts', 'constructor'], ['--fix'], ['x']])
    assert.equal((await run(['doctor', ...args])).code, 2, args.join(' '))
})

/** What is released: only sources that anyone can find, by their tag, with notes. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { ROOT, exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const TIME = 1_700_000_000
const CHANGELOG = `# Changelog

## Unreleased

- Later.

## 1.2.3

- One.

### Fixed

- Two.

## 1.2.2

- Before.
`

/** Makes a repository with one commit and, unless it is left out, the tag of the version. */
function repository(t: TestContext, { tag = 'v1.2.3', version = '1.2.3' } = {}) {
  const folder = freshFolder(t)
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@b.example', ...words], {
      cwd: folder,
      env: { ...process.env, GIT_COMMITTER_DATE: `${TIME} +0000` },
    })
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  write('package.json', JSON.stringify({ name: 'countersignd', version }))
  write('CHANGELOG.md', CHANGELOG)
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message', 'all')
  if (tag !== '') git('tag', tag)
  const script = `
    process.chdir(${JSON.stringify(folder)})
    const { releasedSource } = await import(${JSON.stringify(join(ROOT, 'build/release/source.mjs'))})
    const found = await releasedSource({ isTrial: process.argv[1] === 'trial' })
    process.stdout.write(JSON.stringify(found))`
  /** Returns what is released from the repository. */
  const released = (...words: string[]) =>
    exec(process.execPath, ['--input-type=module', '--eval', script, ...words])
  return { write, released }
}

/** Checks that nothing is released, and with which error. */
async function rejects({ released }: ReturnType<typeof repository>, expected: RegExp) {
  const { code, stderr } = await released()
  assert.equal(code, 1)
  assert.match(stderr, expected)
}

describe('a release', () => {
  it('has the version, the time of the commit, and the changes of the version alone', async (t) => {
    const { code, stdout, stderr } = await repository(t).released()
    assert.equal(code, 0, stderr)
    assert.deepEqual(JSON.parse(stdout), {
      program: { name: 'countersignd', version: '1.2.3' },
      version: '1.2.3',
      time: TIME,
      changes: '- One.\n\n### Fixed\n\n- Two.',
    })
  })

  it('is not made from changed sources', async (t) => {
    const one = repository(t)
    one.write('CHANGELOG.md', `${CHANGELOG}\n`)
    await rejects(one, /The sources differ from the commit.*\n M CHANGELOG\.md\n/)
  })

  it('is not made beside a file that is not in the commit', async (t) => {
    const one = repository(t)
    one.write('more.md', '')
    await rejects(one, /\?\? more\.md/)
  })

  it('is not made from a commit without the tag of its version', async (t) => {
    await rejects(repository(t, { tag: '' }), /The commit [0-9a-f]{12} has no tag v1\.2\.3/)
    await rejects(repository(t, { tag: 'v1.2.2' }), /has no tag v1\.2\.3/)
  })

  it('is not made of a version that the changelog does not have', async (t) => {
    const one = repository(t, { tag: 'v1.2.4', version: '1.2.4' })
    await rejects(one, /CHANGELOG\.md has no section 1\.2\.4/)
  })

  it('can be tried from any sources: its notes are the changes that are not released', async (t) => {
    const one = repository(t, { tag: '' })
    one.write('more.md', '')
    const { code, stdout, stderr } = await one.released('trial')
    assert.equal(code, 0, stderr)
    assert.equal((JSON.parse(stdout) as { changes: string }).changes, '- Later.')
  })
})

describe('npm run release', () => {
  const run = (...words: string[]) =>
    exec(process.execPath, [join(ROOT, 'build/release/main.mjs'), ...words])

  it('makes some of the steps only as a trial', async () => {
    const { code, stderr } = await run('sums')
    assert.deepEqual([code, stderr.includes('Add --untagged for a trial.')], [1, true], stderr)
  })

  it('rejects an unknown step', async () => {
    const { code, stderr } = await run('--untagged', 'bill')
    assert.equal(code, 1)
    assert.match(stderr, /There is no step bill\. The steps are executables, bills, /)
  })
})

/** `audit verify` as an operator runs it. */
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { countersignd, startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'

const verify = (dir: string, ...args: string[]) => countersignd(['audit', 'verify', ...args], dir)
interface Report {
  readonly ok: boolean
  readonly lines: number
  readonly head: string
  readonly knows_head: boolean | null
}

test('audit verify: with and without a running daemon, with a noted head, with a changed log', async (t) => {
  const dir = freshFolder(t)
  const daemon = await startDaemon(dir)
  // Lines are gathered for a quarter of a second.
  await until(
    'the audit log',
    () => statSync(join(dir, 'audit.jsonl'), { throwIfNoEntry: false })?.size,
  )
  const running = await verify(dir, '--json')
  assert.equal(running.code, EXIT.ok, running.stderr)
  const { head, ok, lines } = JSON.parse(running.stdout) as Report
  assert.deepEqual([ok, lines], [true, 1])
  await daemon.end('SIGTERM')

  const after = await verify(dir, '--head', head)
  assert.equal(after.code, EXIT.ok, after.stdout)
  assert.match(
    after.stdout,
    /^2 lines, each matches the line before it\nfrom   20.*\nto     20.*\nhead   [0-9a-f]{64}\n$/,
  )

  const path = join(dir, 'audit.jsonl')
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace('started', 'stopped'))
  const changed = await verify(dir)
  assert.equal(changed.code, EXIT.failed)
  assert.match(changed.stdout, /Line 2 of audit\.jsonl does not follow from the previous line/)

  // A log that an attacker rewrites completely is a valid chain, but another one.
  writeFileSync(
    path,
    text
      .split('\n')
      .slice(1)
      .join('\n')
      .replace(/"prev":"\w+"/, `"prev":"${'0'.repeat(64)}"`),
  )
  const rewritten = await verify(dir, '--head', head, '--json')
  assert.equal(rewritten.code, EXIT.failed)
  assert.equal((JSON.parse(rewritten.stdout) as Report).knows_head, false)
})

const wrong: [name: string, args: string[], code: number, told: RegExp][] = [
  ['no log', [], EXIT.failed, /There is no audit log in .*\. Either no daemon has run/],
  ['an invalid head', ['--head', 'x'], EXIT.usage, /--head must be the 64 hexadecimal digits/],
]
for (const [name, args, code, expected] of wrong)
  test(`${name}: exit code ${code}`, async (t) => {
    const ended = await verify(freshFolder(t), ...args)
    assert.equal(ended.code, code)
    assert.match(ended.stderr, expected)
  })

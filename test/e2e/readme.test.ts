/**
 * The commands of the README, pasted into a shell from top to bottom: all of them up to the section
 * about executables. In place of `npm ci && npm start`, the test starts the daemon itself, on free
 * ports.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { PROGRAM, ROOT, environment, exec, startDaemon } from './program.ts'

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const START = 'npm ci && npm start'

/** Returns the commands of the README that need neither root nor another machine. */
function commands(): string[] {
  const [usable = ''] = README.split('\n## One executable')
  return [...usable.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    block.trimEnd().split('\n'),
  )
}

test('each command of the README works as it is written', async (t) => {
  const [first, ...lines] = commands()
  assert.equal(first, START)
  const dir = freshFolder(t)
  const stateDir = join(dir, 'state')
  const daemon = await startDaemon(stateDir)
  t.after(() => daemon.end('SIGTERM'))
  // `npx countersignd` is this build.
  mkdirSync(join(dir, 'bin'))
  const npx = join(dir, 'bin/npx')
  writeFileSync(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`)
  chmodSync(npx, 0o755)
  // In place of a browser.
  const opener = join(dir, 'bin/xdg-open')
  writeFileSync(opener, '#!/bin/sh\nexit 0\n')
  chmodSync(opener, 0o755)
  const env: Record<string, string | undefined> = { ...environment(stateDir), DISPLAY: ':0' }
  const answers: { line: string; code: number; out: string }[] = []
  // One shell for all lines, because later lines use variables of earlier ones.
  const marked = lines.map((line) => `${line}\nprintf '\\n\\001%s\\n' "$?"`)
  const script = [`cd '${dir}'`, ...marked]
    .join('\n')
    .replaceAll('http://127.0.0.1:19821', daemon.address)
  const { stdout, stderr } = await exec('bash', ['-c', script], {
    env: { ...env, PATH: `${join(dir, 'bin')}:${env['PATH']}` },
  })
  const parts = stdout.split('\u0001')
  for (const [at, line] of lines.entries())
    answers.push({
      line,
      code: parseInt(parts[at + 1]!, 10),
      out: parts[at]!.replace(/^\d+\n/, ''),
    })
  /** The exit codes that the comments of the README promise, other than 0. */
  const promised = (line: string) => (line.includes('exit code 10:') ? 10 : 0)
  // The words of the README are not the guest's, and a call needs a terminal.
  const isOther = (line: string) => /countersignd (call|verify)/.test(line)
  for (const { line, code, out } of answers)
    if (!isOther(line) && !line.includes('/events'))
      assert.equal(code, promised(line), `${line}\n${out}\n${stderr}`)
  const answerOf = (part: string) => answers.find(({ line }) => line.includes(part))!
  assert.match(answerOf('guest create').out, /^http:\/\/127\.0\.0\.1:\d+\/g\/gst_/)
  assert.equal(answerOf('/api/v1/verify').out.includes('"verified":false'), true)
  assert.equal(answerOf('countersignd verify').code, 10)
  assert.match(answerOf('/events').out, /^retry: \d+$/m)
  assert.match(stderr, /needs a terminal/)
})

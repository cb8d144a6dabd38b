/**
 * The examples, run as a reader would run them: they do what they describe, and clean up however
 * they end.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { until } from '../until.ts'
import { TEST_LIMIT_MS } from '../limit.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')

/**
 * Creates a folder that PostgreSQL, which never runs as root, can traverse; `tmp` in it is the
 * temporary folder of an example.
 */
async function newPlace(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-example-'))
  t.after(() => rm(folder, { recursive: true }))
  await chmod(folder, 0o755)
  const temporary = join(folder, 'tmp')
  await mkdir(temporary)
  return { folder, temporary }
}

/** Runs the example to its end. The exit code is null if a signal ended it. */
const run = (temporary: string, more: NodeJS.ProcessEnv = {}) =>
  new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const options = {
      env: { ...process.env, TMPDIR: temporary, ...more },
      timeout: TEST_LIMIT_MS,
    }
    const child = execFile(join(EXAMPLES, 'two-people.sh'), options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })

/** Returns what the kernel reports of a process; empty if it has ended or is not readable. */
function argumentsOf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/**
 * Returns the processes with this folder in their arguments or as working directory (proc(5)).
 */
const programsIn = (folder: string) =>
  (process.platform === 'linux' ? readdirSync('/proc') : [])
    .filter((name) => /^\d+$/.test(name))
    .map((pid) =>
      [
        argumentsOf(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')),
        argumentsOf(() => readlinkSync(`/proc/${pid}/cwd`)),
      ].join(' in '),
    )
    .filter((text) => text.includes(folder))

async function assertGone(temporary: string): Promise<void> {
  await until('the end of all programs', () => programsIn(temporary).length === 0)
  assert.deepEqual(await readdir(temporary), [])
}

test('two people sign in to one server, connect, verify each other, and part', async (t) => {
  const { temporary } = await newPlace(t)
  const { code, stdout, stderr } = await run(temporary)
  assert.equal(code, 0, stdout + stderr)
  const ids = [...stdout.matchAll(/"id":"(acc_\w{26})"/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, 2, stdout)
  const results = [...stdout.matchAll(/^(\w+) hears "[a-z]+ [a-z]+ [a-z]+": (.+)$/gm)]
  assert.deepEqual(
    results.map(([, who, summary = '']) => [who, summary.replace(/[:,].*/, '')]),
    [
      ['ada', 'Verified'],
      ['bob', 'Verified'],
      ['ada', 'Your own words for this connection'],
      ['ada', 'The words of "Ada and Bob" (Bob)'],
      ['ada', 'Verified'],
      ['ada', 'Not verified'],
      ['ada', 'Not verified'],
    ],
  )
  const numbers = [...stdout.matchAll(/^\w+ sees (\d{5}(?: \d{5}){11})$/gm)].map(([, one]) => one)
  assert.equal(numbers.length, 2, stdout)
  assert.equal(numbers[0], numbers[1])
  // The output has neither a token nor an error response.
  assert.doesNotMatch(stdout + stderr, /cs[dm]_[0-9A-Za-z]{36}|"error"/)
  await assertGone(temporary)
})

/** Replaces one program, or preloads a script into each Node process. */
const BROKEN: readonly [name: string, file: string, text: string][] = [
  ['a login that fails', 'before.cjs', 'if (process.argv[2] === "login") process.exit(22)'],
  [
    'a check that accepts all words',
    'before.cjs',
    `if (process.argv[2] === 'verify') {
       console.log('{"verified": true, "echo": false, "replayed": false, "summary": ""}')
       process.exit(0)
     }`,
  ],
  [
    'a removal without effect',
    'before.cjs',
    'if (process.argv[3] === "remove-member") process.exit(0)',
  ],
  ['a login with a wrong code', 'grep', '#!/bin/sh\necho AAAA-AAAA-AAAA-AAAA\n'],
  ['a mailbox without the code', 'grep', '#!/bin/sh\nexit 22\n'],
  ['a request that fails', 'curl', '#!/bin/sh\nexit 22\n'],
]
for (const [name, file, text] of BROKEN)
  test(`${name}: the example fails, and leaves nothing behind`, async (t) => {
    const { folder, temporary } = await newPlace(t)
    const path = join(folder, file)
    await writeFile(path, text)
    await chmod(path, 0o755)
    const { code, stdout, stderr } = await run(
      temporary,
      file.endsWith('.cjs')
        ? { NODE_OPTIONS: `--require=${path}` }
        : { PATH: `${folder}:${process.env['PATH']}` },
    )
    assert(code !== null && code !== 0, `it ended with ${code}`)
    assert.match(stderr, /The example failed/)
    assert.doesNotMatch(stdout, /== Done/)
    await assertGone(temporary)
  })

for (const [signal, expected] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)
  for (const [when, entry] of [
    ['while its folder is made', 'data/PG_VERSION'],
    ['when it runs', 'data/postmaster.pid'],
  ] as const)
    test(`PostgreSQL for the examples ends with ${signal} ${when}, and leaves nothing behind`, async (t) => {
      const { temporary } = await newPlace(t)
      const child = spawn(process.execPath, [join(EXAMPLES, 'postgres.ts')], {
        env: { ...process.env, TMPDIR: temporary },
        stdio: 'ignore',
        timeout: TEST_LIMIT_MS,
        killSignal: 'SIGKILL',
      })
      const ended = once(child, 'exit')
      await until(
        `${entry} of PostgreSQL`,
        () =>
          child.exitCode !== null ||
          readdirSync(temporary).some((name) => existsSync(join(temporary, name, entry))),
      )
      if (process.platform === 'linux') assert.notDeepEqual(programsIn(temporary), [])
      child.kill(signal)
      assert.deepEqual(await ended, [expected, null])
      await assertGone(temporary)
    })

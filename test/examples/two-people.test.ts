/** The examples, as a reader would run them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

/** What an example is promised to take at most, on two cores. */
const LONGEST_MS = 40_000

const PATH = process.env['PATH'] as string

const run = (example: string, path = PATH, temporary = tmpdir()) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const env = { ...process.env, PATH: path, TMPDIR: temporary }
    const options = { env, timeout: LONGEST_MS }
    execFile(join(ROOT, 'examples', example), options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

test('two people sign in to one server and see each other', async () => {
  const { code, stdout, stderr } = await run('two-people.sh')
  assert.equal(code, 0, stdout + stderr)
  const ids = [...stdout.matchAll(/"id":"(acc_\w{26})"/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, 2, stdout)
})

for (const [name, program] of [
  ['a sign-in', 'grep'],
  ['a request', 'curl'],
] as const)
  test(`${name} that fails fails the example, which leaves nothing behind`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'countersign-example-'))
    t.after(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, program), '#!/bin/sh\nexit 22\n')
    await chmod(join(folder, program), 0o755)
    const temporary = join(folder, 'tmp')
    await mkdir(temporary)
    await chmod(folder, 0o755)
    const { code, stderr } = await run('two-people.sh', `${folder}:${PATH}`, temporary)
    assert.notEqual(code, 0)
    assert.match(stderr, /This did not work/)
    assert.deepEqual(await readdir(temporary), [])
  })

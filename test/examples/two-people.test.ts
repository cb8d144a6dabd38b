/** The examples, as a reader would run them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

const PATH = process.env['PATH'] as string

const run = (example: string, path = PATH) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const env = { ...process.env, PATH: path }
    execFile(join(ROOT, 'examples', example), { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

test('two people sign in to one server and see each other', async () => {
  const { code, stdout, stderr } = await run('two-people.sh')
  assert.equal(code, 0, stdout + stderr)
  const ids = [...stdout.matchAll(/"id":"(acc_\w{26})"/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, 2, stdout)
})

test('a request that fails fails the example', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-example-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'curl'), '#!/bin/sh\nexit 22\n')
  await chmod(join(folder, 'curl'), 0o755)
  const { code } = await run('two-people.sh', `${folder}:${PATH}`)
  assert.notEqual(code, 0)
})

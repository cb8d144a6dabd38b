/**
 * Tests the types generated from the document.
 * A correct use compiles, and the compiler reports each wrong one.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)

let dir: string
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'countersign-api-types-'))
  await run(process.execPath, [join(ROOT, 'types.mjs'), join(dir, 'api.d.ts')])
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  const library = join(ROOT, 'node_modules/openapi-fetch/dist/index.d.mts')
  writeFileSync(
    join(dir, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        typeRoots: [join(ROOT, 'node_modules/@types')],
        paths: { 'openapi-fetch': [library] },
      },
      include: ['use.ts'],
      exclude: [],
    }),
  )
})
after(() => rmSync(dir, { recursive: true }))

/** Returns the messages of the compiler for a use; empty if it compiles. */
async function faults(use: string): Promise<string> {
  writeFileSync(
    join(dir, 'use.ts'),
    `import createClient from 'openapi-fetch'
     import type { paths } from './api.d.ts'
     const api = createClient<paths>({ baseUrl: 'http://127.0.0.1:19821' })
     ${use}`,
  )
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  return run(process.execPath, [tsc, '-p', dir, '--pretty', 'false']).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
}

const right = `
  const words = 'matador carload recede'
  const { data, error } = await api.POST('/api/v1/verify', { body: { words } })
  export const said: string = data?.verified === true ? data.summary : (error?.message ?? '')
  const params = { path: { id: 'con_1' } }
  const code = await api.GET('/api/v1/connections/{id}/code', { params })
  export const period: 60 | undefined = code.data?.period_s
  await api.GET('/api/v1/connections', { params: { query: { limit: 20 } } })
  const headers = { 'Idempotency-Key': '1' }
  await api.POST('/api/v1/tags', { params: { header: headers }, body: { name: 'Work' } })`

test('valid requests and answers of the interface compile', async () => {
  assert.equal(await faults(right), '')
})

const wrong: [name: string, use: string, fault: RegExp][] = [
  ['no such path', `await api.GET('/api/v1/conections', {})`, /conections/],
  ['another method', `await api.DELETE('/api/v1/status', {})`, /api\/v1\/status/],
  ['no body', `await api.POST('/api/v1/verify')`, /TS2554|TS2345/],
  [
    'a member of the body of another type',
    `await api.POST('/api/v1/tags', { body: { name: 'a', color: 0 } })`,
    /'number' is not assignable/,
  ],
  [
    'an unknown scope',
    `await api.POST('/api/v1/token', { body: { name: 'a', scope: 'admin' } })`,
    /"admin"/,
  ],
  [
    'no id in the path',
    `await api.GET('/api/v1/connections/{id}', { params: { path: {} } })`,
    /'id'/,
  ],
  [
    'a query parameter of another type',
    `await api.GET('/api/v1/connections', { params: { query: { limit: 'all' } } })`,
    /'string' is not assignable/,
  ],
  [
    'a member that no answer has',
    `export const { data } = await api.GET('/api/v1/status'); data?.online`,
    /'online'/,
  ],
]
for (const [name, use, fault] of wrong)
  test(`does not compile: ${name}`, async () => {
    assert.match(await faults(use), fault)
  })

test('the version in the types is the package’s', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string
  }
  assert(readFileSync(join(dir, 'api.d.ts'), 'utf8').startsWith(`/** Countersign ${version},`))
})

/**
 * Tests that the six mistakes are errors.
 * Without the expectations the compiler reports each of them, and nothing else.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

/** Returns the lines of a text in which the compiler reports an error. */
async function errorLines(text: string): Promise<number[]> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-types-'))
  try {
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
    writeFileSync(join(dir, 'mistakes.ts'), text.replaceAll("'../../src/", `'${ROOT}/src/`))
    writeFileSync(
      join(dir, 'tsconfig.json'),
      JSON.stringify({
        extends: join(ROOT, 'tsconfig.json'),
        compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')] },
        include: ['mistakes.ts'],
        exclude: [],
      }),
    )
    const output = await new Promise<string>((resolve) =>
      execFile(process.execPath, [TSC, '-p', dir, '--pretty', 'false'], (_, stdout) =>
        resolve(stdout),
      ),
    )
    const found = output.split('\n').filter((line) => line.includes('error TS'))
    return found.map((line) => {
      const at = /^.*mistakes\.ts\((\d+),\d+\): error/.exec(line)?.[1]
      return Number(at ?? assert.fail(line))
    })
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const source = readFileSync(join(import.meta.dirname, 'mistakes.ts'), 'utf8')

test('the file compiles with its expectations', async () => {
  assert.deepEqual(await errorLines(source), [])
})

test('without them the compiler finds the six mistakes', async () => {
  const lines = source.split('\n')
  const expected = lines.flatMap((line, i) =>
    line.startsWith('// @ts-expect-error') ? [i + 2] : [],
  )
  assert.equal(expected.length, 6)
  assert.deepEqual(await errorLines(source.replaceAll('@ts-expect-error', 'mistake')), expected)
})

/** Runs redocly over an OpenAPI document, with the rules of redocly.yaml. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const CLI = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js')

const lint = (file: string) =>
  new Promise<{ status: number; output: string }>((resolve) =>
    execFile(
      process.execPath,
      [CLI, 'lint', file, `--config=${join(ROOT, 'redocly.yaml')}`, '--format=json'],
      {
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        maxBuffer: 1 << 24,
      },
      (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : 1, output: stdout + stderr }),
    ),
  )

/** Fails if redocly finds an error or a warning. */
export async function assertLints(document: object): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-redocly-'))
  try {
    const file = join(dir, 'openapi.json')
    writeFileSync(file, JSON.stringify(document, null, 2))
    const { status, output } = await lint(file)
    const [, errors, warnings] = /"errors":\s*(\d+),\s*"warnings":\s*(\d+)/.exec(output) ?? []
    assert.deepEqual([status, errors, warnings], [0, '0', '0'], output.slice(0, 4000))
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** redocly over an OpenAPI document in a file. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'

const CLI = join(import.meta.dirname, '../node_modules/@redocly/cli/bin/cli.js')

/** Fails where it finds an error. */
export async function assertLints(file: string): Promise<void> {
  const { status, output } = await new Promise<{ status: number; output: string }>((resolve) =>
    execFile(
      process.execPath,
      [CLI, 'lint', file, '--extends=minimal', '--format=json'],
      {
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        maxBuffer: 1 << 24,
      },
      (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : 1, output: stdout + stderr }),
    ),
  )
  const totals = /"totals":\s*{[^}]*"errors":\s*(\d+)/.exec(output)?.[1]
  assert.deepEqual([status, totals], [0, '0'], output.slice(0, 4000))
}

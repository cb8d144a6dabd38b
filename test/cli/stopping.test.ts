/** The end of a serving program after a request to stop. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, exec } from '../e2e/program.ts'

const MODULE = join(ROOT, 'src/cli/shutdown.ts')

/** Runs a program that sends itself these signals, with this code in `close`. */
const ended = (close: string, longestMs: number, signals: readonly string[]) =>
  exec(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { askedToStop, stop } from ${JSON.stringify(MODULE)}
     const stopped = askedToStop()
     // What listens keeps a program alive.
     const alive = setInterval(() => undefined, 1000)
     const signals = ${JSON.stringify(signals)}
     setImmediate(() => process.kill(process.pid, signals.shift()))
     await stopped
     if (signals.length > 0) process.kill(process.pid, signals.shift())
     await stop({ close: async () => { ${close} } }, (level, event) => console.log(level, event), ${longestMs})
     console.log('closed')`,
  ])

type Case = [
  name: string,
  close: string,
  longestMs: number,
  signals: string[],
  code: number | null,
  told: string,
]
const cases: Case[] = [
  ['in good order', 'clearInterval(alive)', 60_000, ['SIGTERM'], 0, 'info stopping\nclosed\n'],
  ['by an interrupt', 'clearInterval(alive)', 60_000, ['SIGINT'], 0, 'info stopping\nclosed\n'],
  [
    'after its time, with work still running',
    'await new Promise(() => undefined)',
    50,
    ['SIGTERM'],
    1,
    'info stopping\nwarn stopped before everything had ended\n',
  ],
  ['at once by a second signal', '', 60_000, ['SIGTERM', 'SIGTERM'], null, ''],
  ['at once by a second signal of another kind', '', 60_000, ['SIGTERM', 'SIGINT'], null, ''],
]
for (const [name, close, longestMs, signals, code, output] of cases)
  test(`it ends ${name}`, async () => {
    const { code: ending, stdout, stderr } = await ended(close, longestMs, signals)
    assert.equal(ending, code, stderr)
    assert.equal(stdout, output)
  })

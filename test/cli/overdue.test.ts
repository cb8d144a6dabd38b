/** A program ends after a request to stop although its event loop was blocked, and not early. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { ROOT } from '../e2e/program.ts'

const MODULE = join(ROOT, 'src/cli/shutdown.ts')

/** Runs a program that may be stopped within `overdueMs`: `close` runs at its end. */
function program(close: string, overdueMs: number) {
  const source = `import { askedToStop, stop } from ${JSON.stringify(MODULE)}
    const alive = setInterval(() => undefined, 1000)
    const stopped = askedToStop(${overdueMs})
    console.log('runs')
    await stopped
    await stop({ close: async () => { ${close} } }, () => undefined, 60_000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return { child, line: () => lines.next(), exit: once(child, 'close'), stderr: () => stderr }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  it(`a process whose event loop blocks after ${signal} ends and reports it`, async (t) => {
    const { child, line, exit, stderr } = program('for (;;);', 100)
    t.after(() => child.kill('SIGKILL'))
    await line()
    child.kill(signal)
    assert.deepEqual(await exit, [null, 'SIGKILL'])
    assert.match(stderr(), /stopped while the event loop was held up/)
  })

it('a process with a blocked event loop is not ended before its time', async (t) => {
  const slow = `const end = performance.now() + 500
    while (performance.now() < end);
    clearInterval(alive)`
  const { child, line, exit, stderr } = program(slow, 60_000)
  t.after(() => child.kill('SIGKILL'))
  await line()
  child.kill('SIGTERM')
  assert.deepEqual(await exit, [0, null])
  assert.equal(stderr(), '')
})

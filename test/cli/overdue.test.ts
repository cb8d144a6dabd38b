/** A program with a blocked event loop ends after a request to stop, and not before. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { ROOT } from '../e2e/program.ts'

const MODULE = join(ROOT, 'src/cli/shutdown.ts')
/** Short, to keep the tests short. */
const TIMES = { settledMs: 1, patienceMs: 50 }

/**
 * Runs a program that may be stopped: `later` runs once the thread watches, `close` at its end.
 */
function program({ later, close = '' }: { later: string; close?: string }) {
  const source = `import { askedToStop, stop } from ${JSON.stringify(MODULE)}
    const onReady = () => { ${later} }
    const stopped = askedToStop(100, { times: ${JSON.stringify(TIMES)}, onReady })
    setInterval(() => undefined, 1000)
    await stopped
    await stop({ close: async () => { ${close} } }, () => undefined, 60_000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return { child, line: () => lines.next(), exit: once(child, 'exit') }
}

const linux = { skip: process.platform !== 'linux' && 'Linux only' }
const SPINNING = "process.stdout.write('spins\\n'); for (;;);"

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  it(`a process with a blocked event loop ends by ${signal}`, linux, async (t) => {
    const { child, line, exit } = program({ later: SPINNING })
    t.after(() => child.kill('SIGKILL'))
    await line()
    child.kill(signal)
    assert.deepEqual(await exit, [null, 'SIGKILL'])
  })

it('a process ends even if its event loop blocks after the signal', async (t) => {
  const { child, line, exit } = program({ later: "console.log('runs')", close: 'for (;;);' })
  t.after(() => child.kill('SIGKILL'))
  await line()
  child.kill('SIGTERM')
  assert.deepEqual(await exit, [null, 'SIGKILL'])
})

it('a slow process is not killed, and receives other signals afterwards', linux, async (t) => {
  const slow = `process.on('SIGUSR2', () => console.log('heard'))
    process.stdout.write('spins\\n')
    const end = performance.now() + ${20 * TIMES.patienceMs}
    while (performance.now() < end);
    console.log('turns')`
  const { child, line, exit } = program({ later: slow })
  t.after(() => child.kill('SIGKILL'))
  await line()
  child.kill('SIGUSR2')
  assert.equal((await line()).value, 'turns')
  assert.equal((await line()).value, 'heard')
  child.kill('SIGKILL')
  await exit
})

/** A child process that reports on its standard output, line by line. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'

export interface Child {
  /** Returns its next line. Fails if the process has ended instead. */
  line(): Promise<string>
  /** Kills it without a chance to clean up; returns the lines that it still wrote. */
  kill(): Promise<string[]>
}

/** Starts a script of this folder. */
export function startChild(t: TestContext, script: string, ...args: string[]): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async line() {
      const { done, value } = await lines.next()
      assert(!done, 'the child has ended')
      return value
    },
    async kill() {
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      const rest: string[] = []
      for (let next = await lines.next(); !next.done; next = await lines.next())
        rest.push(next.value)
      await closed
      assert.equal(child.signalCode, 'SIGKILL')
      return rest
    },
  }
}

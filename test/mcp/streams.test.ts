/**
 * The streams of `countersignd mcp`: they carry only the protocol, and the program ends when its
 * client is gone.
 */
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { stateSecret } from '../../src/storage/runtime-file.ts'
import { PROGRAM, countersignd, environment } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { daemonAt } from './daemon-at.ts'
import { standIn } from './stand-in.ts'
import { TEST_LIMIT_MS } from '../limit.ts'

/** Starts `countersignd mcp` as a process with functions to read its lines one by one. */
function raw(t: TestContext, stateDir: string) {
  const child: ChildProcessWithoutNullStreams = spawn(
    process.execPath,
    [PROGRAM, 'mcp', '--tools', 'all'],
    {
      env: environment(stateDir),
      timeout: TEST_LIMIT_MS,
      killSignal: 'SIGKILL',
    },
  )
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const closed = once(child, 'close') as Promise<[number | null, string | null]>
  return {
    child,
    closed,
    say: (message: unknown) =>
      void child.stdin.write(
        `${typeof message === 'string' ? message : JSON.stringify(message)}\n`,
      ),
    next: async () =>
      JSON.parse((await lines.next()).value as string) as Record<string, unknown> & {
        error?: { code: number }
      },
  }
}

const REQUEST = { jsonrpc: '2.0', id: 1, method: 'tools/call' }

describe('the streams of countersignd mcp', () => {
  it('contain only the protocol, with any input', async (t) => {
    const { say, next } = raw(t, freshFolder(t))
    say('this is not JSON')
    for (const line of ['[1, 2]', '{"id": 1}']) {
      say(line)
      const { id, error } = await next()
      assert.deepEqual([id, error?.code], [null, -32600], line)
    }
    say({ jsonrpc: '2.0', id: 7, method: 'ping' })
    assert.deepEqual(await next(), { jsonrpc: '2.0', id: 7, result: {} })
    say({ ...REQUEST, params: { name: 'constructor' } })
    const { id, error } = await next()
    assert.deepEqual([id, error?.code], [1, -32602])
  })

  it('200 calls at once are answered', async (t) => {
    const dir = freshFolder(t)
    await daemonAt(t, dir)
    const { say, next } = raw(t, dir)
    const ids = Array.from({ length: 200 }, (_, i) => i)
    for (const id of ids) say({ ...REQUEST, id, params: { name: 'context_read' } })
    const answered = []
    for (const _ of ids) {
      const { id, result } = await next()
      answered.push(id)
      assert.equal((result as { isError?: true }).isError, undefined, JSON.stringify(result))
    }
    assert.deepEqual(
      answered.toSorted((a, b) => Number(a) - Number(b)),
      ids,
    )
  })

  it('requests from before the end of the input are answered', async (t) => {
    const dir = freshFolder(t)
    await daemonAt(t, dir)
    const { child, closed, say, next } = raw(t, dir)
    const calls = ['a', 'b', 'c'].map((name, id) => {
      return { ...REQUEST, id, params: { name: 'tags_create', arguments: { name } } }
    })
    for (const call of calls) say(call)
    child.stdin.end()
    const made = []
    for (const _ of calls) {
      const { result } = await next()
      made.push((result as { structuredContent: { name: string } }).structuredContent.name)
    }
    assert.deepEqual(made.toSorted(), ['a', 'b', 'c'])
    assert.deepEqual(await closed, [EXIT.ok, null])
  })

  it('the end of the input ends the process', async (t) => {
    const { child, closed, say, next } = raw(t, freshFolder(t))
    say({ jsonrpc: '2.0', id: 1, method: 'ping' })
    await next()
    child.stdin.end()
    assert.deepEqual(await closed, [EXIT.ok, null])
  })

  it('without input the process ends at once', async (t) => {
    const ended = await countersignd(['mcp'], freshFolder(t))
    assert.deepEqual(ended, { code: EXIT.ok, stdout: '', stderr: '' })
  })

  for (const end of ['SIGTERM', 'SIGINT', 'stdin'] as const)
    it(`${end} during a call ends the process`, async (t) => {
      const dir = freshFolder(t)
      stateSecret(dir)
      const daemon = await standIn(t, dir, () => undefined)
      const { child, closed, say } = raw(t, dir)
      say({ ...REQUEST, params: { name: 'tags_list' } })
      await daemon.next()
      if (end === 'stdin') child.stdin.end()
      else child.kill(end)
      assert.deepEqual(await closed, [EXIT.ok, null])
    })

  it('a client that stops reading ends the process', async (t) => {
    const { child, closed, say } = raw(t, freshFolder(t))
    child.stdout.destroy()
    say({ jsonrpc: '2.0', id: 1, method: 'ping' })
    assert.deepEqual(await closed, [EXIT.ok, null])
  })
})

/**
 * `health`: exit code 0 for a daemon that proves itself, 9 for any other process and for none,
 * now or within a given time.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { writeRuntime } from '../../src/storage/runtime-file.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { daemonHere, terminal } from './terminal.ts'

describe('health', () => {
  it('is 0 for a daemon that proves itself, and 9 after it stopped', async (t) => {
    const dir = freshFolder(t)
    const daemon = await daemonHere(dir)
    const result = await terminal(dir)(['health'])
    assert.deepEqual(result, {
      code: EXIT.ok,
      out: `The daemon answers at ${daemon.address}.\n`,
      err: '',
    })
    const json = await terminal(dir)(['health', '--json'])
    assert.deepEqual(JSON.parse(json.out), { healthy: true, address: daemon.address, socket: null })
    await daemon.close()
    const after = await terminal(dir)(['health'])
    assert.equal(after.code, EXIT.daemonSilent)
    assert.match(
      after.err,
      /^countersignd: No daemon for the state folder .* answers\. Start it with .*, or check its log\.\n$/,
    )
  })

  it('reports in JSON, too, that no daemon answers', async (t) => {
    const { code, out, err } = await terminal(freshFolder(t))(['health', '--json'])
    assert.deepEqual(
      [code, JSON.parse(out), err],
      [EXIT.daemonSilent, { healthy: false, address: null, socket: null }, ''],
    )
  })

  it('is 9 if another program has the port', async (t) => {
    const dir = freshFolder(t)
    const asked: (string | undefined)[] = []
    const squatter = createServer((req, res) => {
      asked.push(req.headers.authorization)
      res.end('{"status":"ok"}')
    })
    squatter.listen(0, '127.0.0.1')
    await once(squatter, 'listening')
    t.after(() => squatter.close())
    const { port } = squatter.address() as AddressInfo
    const address = `http://127.0.0.1:${port}`
    writeRuntime(dir, {
      pid: process.pid,
      address,
      socket: null,
      nonce: 'nonce',
      version: '0',
      stateVersion: null,
    })
    assert.equal((await terminal(dir)(['health'])).code, EXIT.daemonSilent)
    assert.deepEqual(asked, [undefined])
  })

  it('waits for a daemon that is starting', async (t) => {
    const dir = freshFolder(t)
    const waiting = terminal(dir)(['health', '--wait', '60'])
    const daemon = await daemonHere(dir)
    t.after(() => daemon.close())
    assert.equal((await waiting).code, EXIT.ok)
  })

  it('stops waiting when the starting process has ended', async (t) => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
    await once(child, 'exit')
    const args = ['health', '--wait', '3600', '--pid', String(child.pid)]
    assert.equal((await terminal(freshFolder(t))(args)).code, EXIT.daemonSilent)
  })

  it('reports an invalid configuration after the process has ended', async (t) => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    await once(child, 'spawn')
    let over = false
    child.once('exit', () => (over = true))
    const args = ['health', '--wait', '3600', '--pid', String(child.pid)]
    const result = terminal(freshFolder(t))(args, { env: { SVC_HTTP_PORT: 'x' } })
    child.stdin.end()
    assert.equal((await result).code, EXIT.configuration)
    assert.ok(over)
  })

  for (const [option, value] of [
    ['--wait', 'soon'],
    ['--wait', '3601'],
    ['--wait', '-1'],
    ['--pid', '0'],
    ['--pid', ''],
  ] as const)
    it(`refuses ${option} ${JSON.stringify(value)}`, async (t) => {
      const { code, err } = await terminal(freshFolder(t))(['health', `${option}=${value}`])
      assert.equal(code, EXIT.usage)
      assert.match(err, /must be a whole number from/)
    })

  it('--server is 0 for an account server that is ready, and 9 after it stopped', async (t) => {
    const dir = freshFolder(t)
    const daemon = await daemonHere(dir)
    const { port } = new URL(daemon.accountAddress ?? assert.fail())
    const env = { SVC_ACCOUNT_PORT: port }
    const result = await terminal(dir)(['health', '--server'], { env })
    assert.deepEqual(
      [result.code, result.out],
      [EXIT.ok, `The account server at http://127.0.0.1:${port} is ready.\n`],
      result.err,
    )
    // It accepts only the host of its own public URL.
    const other = { ...env, SVC_PUBLIC_URL: 'https://accounts.example.org' }
    const foreign = await terminal(dir)(['health', '--server'], { env: other })
    assert.equal(foreign.code, EXIT.daemonSilent)
    assert.match(foreign.err, /is not ready \(HTTP 4\d\d\)/)
    await daemon.close()
    const after = await terminal(dir)(['health', '--server'], { env })
    assert.equal(after.code, EXIT.daemonSilent)
    assert.match(after.err, /does not answer\. Start it with "countersignd server"/)
  })

  it('--server needs a known port, and does not wait', async (t) => {
    const dir = freshFolder(t)
    const unknown = await terminal(dir)(['health', '--server'], { env: { SVC_ACCOUNT_PORT: '0' } })
    assert.equal(unknown.code, EXIT.configuration)
    const waiting = await terminal(dir)(['health', '--server', '--wait', '1'])
    assert.equal(waiting.code, EXIT.usage)
  })
})

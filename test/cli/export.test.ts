/**
 * The commands of exports: a complete file or none, readable by its owner only, and never over an
 * existing file.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import type { Export } from '../../src/api/rest/account.ts'
import type { Api } from '../../src/cli/command.ts'
import { harmlessIo } from '../../src/cli/output.ts'
import { newProgressBar } from '../../src/cli/commands/export.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { unzip } from '../service/exports/unzip.ts'
import { call } from './calling.ts'
import { daemonHere, terminal, streams } from './terminal.ts'

const ID = 'exp_01m7zcejkxe189qvn7jpcpjyhz'
const BYTES = Buffer.from('the bytes of a file')

const exportOf = (more: Partial<Export> = {}): Export => ({
  id: ID,
  state: 'ready',
  progress: 100,
  finished_at: '2026-01-02T03:04:05.000Z',
  size_bytes: BYTES.length,
  expires_at: '2026-01-09T03:04:05.000Z',
  error: null,
  created_at: '2026-01-02T03:04:00.000Z',
  ...more,
})

/** Starts a file server that answers with `respond`. */
async function fileServer(t: TestContext, respond: RequestListener): Promise<string> {
  const server = createServer(respond)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const whole: RequestListener = (_, res) =>
  void res
    .writeHead(200, { 'Content-Type': 'application/zip', 'Content-Length': BYTES.length })
    .end(BYTES)

/** Returns an API that answers one state after another; `asked` records the requests. */
function apiOf(origin: string, states: readonly Partial<Export>[] = [{}]) {
  const asked: string[] = []
  const left = [...states]
  const api = {
    exports: {
      create: async () => {
        asked.push('create')
        return { id: ID }
      },
      list: async () => {
        asked.push('list')
        const more = left.length > 1 ? left.shift() : left[0]
        return { items: more === undefined ? [] : [exportOf(more)], next_cursor: null }
      },
      download: async () => {
        asked.push('download')
        const url = `${origin}/exports/${ID}?expires=1&signature=x`
        return { url, reachable: 'this_machine', expires_at: '' }
      },
      clear: async () => ({ deleted: 2 }),
    },
  }
  return { asked, api: api as unknown as Partial<Api> & typeof api }
}

const building = (progress: number): Partial<Export> => ({
  state: 'building',
  progress,
  size_bytes: null,
  finished_at: null,
  expires_at: null,
})

describe('export', () => {
  it('waits, downloads, and prints the path', async (t) => {
    const folder = freshFolder(t)
    const output = join(folder, 'mine.zip')
    const { api, asked } = apiOf(await fileServer(t, whole), [building(0), building(40), {}])
    const result = await call(api, ['export', '--output', output])
    assert.equal(result.code, EXIT.ok, result.err)
    assert.equal(result.out, `${output}\n`)
    assert.match(result.err, /^Size  19 bytes$/m)
    assert.deepEqual(asked, ['create', 'list', 'list', 'list', 'download'])
    assert.deepEqual(readFileSync(output), BYTES)
    assert.equal(statSync(output).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(folder), ['mine.zip'])
  })

  it('prints one JSON answer', async (t) => {
    const output = join(freshFolder(t), 'mine.zip')
    const { api } = apiOf(await fileServer(t, whole))
    const result = await call(api, ['export', 'create', '--output', output, '--json'])
    assert.deepEqual(JSON.parse(result.out), { ...exportOf(), file: output })
    assert.equal(result.err, '')
  })

  it('uses an export that is already being built', async (t) => {
    const output = join(freshFolder(t), 'mine.zip')
    const { api } = apiOf(await fileServer(t, whole), [building(10), building(50), {}])
    api.exports.create = async () => Promise.reject(new AppError('conflict', 'One is built.'))
    const result = await call(api, ['export', '--output', output])
    assert.equal(result.code, EXIT.ok, result.err)
    assert.deepEqual(readFileSync(output), BYTES)
  })

  it('reports that no more exports can be kept', async (t) => {
    const { api } = apiOf('http://127.0.0.1:1', [{ state: 'failed' }])
    api.exports.create = async () => Promise.reject(new AppError('conflict', '20 are kept.'))
    const result = await call(api, ['export', '--output', join(freshFolder(t), 'mine.zip')])
    assert.deepEqual([result.code, result.err], [EXIT.failed, '20 are kept.\n'])
  })

  for (const [what, states, expected] of [
    ['fails', [building(5), { state: 'failed', error: 'Ask for another.' }], /Ask for another/],
    ['expired meanwhile', [building(5), { state: 'expired' }], /not built/],
  ] as const)
    it(`an export that ${what} leaves no file`, async (t) => {
      const folder = freshFolder(t)
      const { api } = apiOf('http://127.0.0.1:1', states)
      const result = await call(api, ['export', '--output', join(folder, 'mine.zip')])
      assert.equal(result.code, EXIT.failed)
      assert.match(result.err, expected)
      assert.deepEqual(readdirSync(folder), [])
    })

  it('an unknown subcommand', async () => {
    const result = await call({}, ['export', 'lsit'])
    assert.match(result.err, /can only be followed by list, download, delete/)
  })

  describe('an existing output file', () => {
    const taken = {
      'by a file': (path: string) => writeFileSync(path, 'precious'),
      'by a folder': (path: string) => mkdirSync(path),
      'by a dangling link': (path: string) => symlinkSync('/nowhere', path),
    }
    for (const [how, take] of Object.entries(taken))
      it(`${how}: rejected before any request`, async (t) => {
        const folder = freshFolder(t)
        const output = join(folder, 'mine.zip')
        take(output)
        const { api, asked } = apiOf(await fileServer(t, whole))
        for (const words of [['export'], ['export download', ID]] as const) {
          const result = await call(api, [...words, '--output', output])
          assert.equal(result.code, EXIT.failed)
          assert.match(result.err, /already exists\. Name another file with --output/)
        }
        assert.ok(!asked.includes('create'))
        assert.deepEqual(readdirSync(folder), ['mine.zip'])
        if (how === 'by a file') assert.equal(readFileSync(output, 'utf8'), 'precious')
      })

    it('created during the download: the file stays', async (t) => {
      const folder = freshFolder(t)
      const output = join(folder, 'mine.zip')
      const origin = await fileServer(t, (req, res) => {
        writeFileSync(output, 'precious')
        whole(req, res)
      })
      const result = await call(apiOf(origin).api, ['export', '--output', output])
      assert.match(result.err, /already exists/)
      assert.equal(readFileSync(output, 'utf8'), 'precious')
      assert.deepEqual(readdirSync(folder), ['mine.zip'])
    })

    it('in a missing folder: rejected', async (t) => {
      const { api } = apiOf('http://127.0.0.1:1')
      const result = await call(api, ['export', '--output', join(freshFolder(t), 'no', 'mine.zip')])
      assert.match(result.err, /The folder .* does not exist/)
    })
  })

  describe('a failed download leaves no file, and the error names the next step', () => {
    const zip = { 'Content-Type': 'application/zip' }
    const answers: Record<string, [RequestListener, RegExp]> = {
      'too short': [
        (_, res) => void res.writeHead(200, zip).end('the bytes'),
        /not the size of the export/,
      ],
      'too long': [
        (_, res) => void res.writeHead(200, zip).end(`${BYTES.toString()}!`),
        /not the size of the export/,
      ],
      'cut off': [
        (_, res) => {
          res.writeHead(200, { ...zip, 'Content-Length': BYTES.length }).write('the')
          setImmediate(() => res.destroy())
        },
        /closed the connection/,
      ],
      'of another type': [
        (_, res) => void res.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>'),
        /did not answer with a file/,
      ],
      'with an ended link': [(_, res) => void res.writeHead(404).end(), /has expired/],
      'a redirect': [
        (_, res) => void res.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
        /failed with 302/,
      ],
      'with an error of the server': [
        (_, res) => void res.writeHead(500).end('<b>'),
        /failed with 500/,
      ],
    }
    for (const [what, [respond, expected]] of Object.entries(answers))
      it(what, async (t) => {
        const folder = freshFolder(t)
        const { api } = apiOf(await fileServer(t, respond))
        const result = await call(api, ['export', '--output', join(folder, 'mine.zip')])
        assert.deepEqual([result.code, result.out], [EXIT.failed, ''])
        assert.match(result.err, expected)
        assert.match(result.err, new RegExp(`countersignd export download ${ID}`))
        assert.deepEqual(readdirSync(folder), [])
      })

    for (const [what, url, expected] of [
      ['elsewhere', 'http://127.0.0.1:1/latest/meta-data', /does not lead to the export/],
      ['an invalid URL', 'nonsense', /does not lead to the export/],
      ['another machine by http', `http://203.0.113.1/exports/${ID}`, /must be reached by https/],
      ['another scheme', `ftp://127.0.0.1/exports/${ID}`, /must be reached by https|origin alone/],
    ] as const)
      it(`a link that leads to ${what} is not followed`, async (t) => {
        const { api } = apiOf('')
        api.exports.download = async () => ({ url, reachable: 'this_machine', expires_at: '' })
        const result = await call(api, ['export', '--output', join(freshFolder(t), 'mine.zip')])
        assert.equal(result.code, EXIT.failed)
        assert.match(result.err, expected)
      })
  })
})

describe('export list, download, delete', () => {
  it('list shows the exports', async () => {
    const states = [{}, building(40), { state: 'failed', size_bytes: null }] as Partial<Export>[]
    const items = states.map(exportOf)
    const { api } = apiOf('')
    api.exports.list = async () => ({ items, next_cursor: null })
    const { out } = await call(api, ['export list'])
    assert.match(out, /^ID +STATE +REQUESTED +BYTES +KEPT UNTIL\n/)
    assert.match(out, /ready .* 19 +9 Jan /)
    assert.match(out, /building, 40 %/)
    assert.deepEqual(JSON.parse((await call(api, ['export list', '--json'])).out), { items })
  })

  it('download fetches a ready one; for others it prints the daemon’s error', async (t) => {
    const output = join(freshFolder(t), 'mine.zip')
    const { api } = apiOf(await fileServer(t, whole))
    const result = await call(api, ['export download', ID, '--output', output])
    assert.deepEqual([result.code, result.out], [EXIT.ok, `${output}\n`])
    assert.deepEqual(readFileSync(output), BYTES)
    for (const [id, says] of [
      ['exp_x', /Nothing here is called "exp_x"\. Exports: exp_01m7\./],
      ['con_01m7zcejkxe189qvn7jpcpjyhz', /countersignd export list/],
    ] as const)
      assert.match((await call(api, ['export download', id])).err, says)
    api.exports.download = async () =>
      Promise.reject(new AppError('export_not_ready', 'Ask again in a while.'))
    assert.match((await call(api, ['export download', ID])).err, /Ask again in a while/)
  })

  it('delete prints the number of exports', async () => {
    const { api } = apiOf('')
    assert.equal((await call(api, ['export delete'])).err, 'Deleted 2 exports.\n')
    assert.equal((await call(api, ['export delete', '--json'])).out, '{"deleted":2}')
  })
})

describe('the progress bar', () => {
  const drawn = (env: NodeJS.ProcessEnv, isTTY: boolean, quiet = false) => {
    const { io, result } = streams()
    const { stderr } = harmlessIo({ ...io, stderr: { ...io.stderr, isTTY }, env })
    const bar = newProgressBar({ stderr, env, quiet }, 'Exporting')
    for (const percent of [-1, 0, 0, 50, 50, 99.9, 100, 101]) bar.show(percent)
    bar.end()
    return result.err
  }

  it('is drawn over itself at a terminal, once for each step', () => {
    const lines = drawn({ NO_COLOR: '1' }, true).split('\r')
    assert.equal(lines[3], `Exporting [${'#'.repeat(15)}${'-'.repeat(15)}]  50 %`)
    assert.equal(lines.at(-2), `Exporting [${'#'.repeat(30)}] 100 %`)
    assert.ok(lines.at(-1)!.endsWith('\n'))
    assert.equal(lines.filter((line) => line.includes(' 50 %')).length, 1)
  })

  it('has colours unless NO_COLOR is set', () => {
    assert.ok(drawn({}, true).includes('\u001b[32m#'))
    assert.ok(drawn({ NO_COLOR: '' }, true).includes('\u001b[32m#'))
    assert.ok(!drawn({ NO_COLOR: '1' }, true).includes('\u001b'))
  })

  for (const [what, env, isTTY, quiet] of [
    ['in a pipe', {}, false, false],
    ['at a dumb terminal', { TERM: 'dumb' }, true, false],
    ['with --json', {}, true, true],
  ] as const)
    it(`is not drawn ${what}`, () => assert.equal(drawn(env, isTTY, quiet), ''))
})

describe('with a daemon and the account server in it', () => {
  it('exports to a file that another program reads', async (t) => {
    const stateDir = freshFolder(t)
    const daemon = await daemonHere(stateDir)
    t.after(() => daemon.close())
    const output = join(freshFolder(t), 'mine.zip')
    const result = await terminal(stateDir)(['export', '--output', output])
    assert.equal(result.code, EXIT.ok, result.err)
    const files = await unzip(readFileSync(output))
    const { user } = JSON.parse(files.get('context.json')!) as { user: { id: string } }
    assert.ok(files.get('README.txt')!.includes(user.id))
    assert.equal((await terminal(stateDir)(['export', 'delete'])).err, 'Deleted 1 export.\n')
  })

  it('without a daemon no export is requested, and the message names the command that starts it', async (t) => {
    const stateDir = freshFolder(t)
    const output = join(freshFolder(t), 'mine.zip')
    const env = { SVC_ACCOUNT_PORT: '1' }
    const result = await terminal(stateDir)(['export', '--output', output], { env })
    assert.equal(result.code, EXIT.failed)
    assert.match(
      result.err,
      /needs the daemon\. Start it \("countersignd serve"\), then run "countersignd export"\./,
    )
    const { out } = await terminal(stateDir)(['export', 'list', '--json'])
    assert.deepEqual((JSON.parse(out) as { items: Export[] }).items, [])
    const daemon = await daemonHere(stateDir)
    t.after(() => daemon.close())
    const again = await terminal(stateDir)(['export', '--output', output])
    assert.equal(again.code, EXIT.ok, again.err)
    assert.ok((await unzip(readFileSync(output))).has('profile.json'))
  })
})

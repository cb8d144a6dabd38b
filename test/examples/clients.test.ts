/**
 * The example clients, run as a reader would run them: against a running daemon, in each
 * language.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import type { TestDaemon } from '../daemon.ts'
import { startDaemon } from '../daemon.ts'
import type { Json } from '../e2e/caller.ts'
import { type Ended, ROOT, exec } from '../e2e/program.ts'
import { signIn } from '../handlers/people.ts'

const EXAMPLES = join(ROOT, 'examples')
const CLIENTS: readonly [language: string, command: string, ...args: string[]][] = [
  ['TypeScript', process.execPath, join(EXAMPLES, 'client.ts')],
  ['shell', join(EXAMPLES, 'client.sh')],
  ['Python', join(EXAMPLES, 'client.py')],
]

const CONTENT = 'Invoice 4711: 1,200 CHF'
const DIGEST = createHash('sha256').update(CONTENT).digest('hex')
/** More than one page holds. */
const NAMES = Array.from({ length: 51 }, (_, i) => `C ${i}`)
/** An address without a listener. */
const NOWHERE = 'http://127.0.0.1:1'

const person = async (daemon: TestDaemon) => {
  const token = await daemon.token('full')
  return async (method: string, path: string, body?: unknown): Promise<Json> => {
    const { status, text, json } = await daemon.request(method, path, { token, body })
    assert(status < 300, `${method} ${path}: ${status} ${text}`)
    return json
  }
}

describe('the clients among the examples', () => {
  let home: TestDaemon
  let ada: TestDaemon
  let folder: string
  let asOwner: Awaited<ReturnType<typeof person>>
  let asAda: typeof asOwner

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-clients-'))
    await writeFile(join(folder, 'invoice.txt'), CONTENT)
    home = await startDaemon()
    ada = await startDaemon({ SVC_BACKEND_URL: home.accountAddress })
    await signIn(ada, home, 'ada@example.org')
    ;[asOwner, asAda] = await Promise.all([person(home), person(ada)])
    for (const name of NAMES) await asOwner('POST', '/api/v1/connections', { name })
  })
  after(async () => {
    for (const daemon of [ada, home]) await daemon.close()
    await rm(folder, { recursive: true })
  })

  /** Connects the two accounts and returns Ada’s words for that connection. */
  async function words(name: string): Promise<string> {
    const { user } = await asAda('GET', '/api/v1/context')
    const invite = [{ user_id: user.id }]
    const { id } = await asOwner('POST', '/api/v1/connections', { name, invite })
    const { received } = await asAda('GET', '/api/v1/invitations/pending')
    await asAda('POST', `/api/v1/invitations/${received[0].id}/approve`)
    for (const ask of [asOwner, asAda]) await ask('POST', '/api/v1/sync')
    return (await asAda('GET', `/api/v1/connections/${id}/code`)).words
  }

  for (const [language, command, ...args] of CLIENTS) {
    const run = (
      env: NodeJS.ProcessEnv,
      { input = '', file = join(folder, 'invoice.txt') } = {},
    ): Promise<Ended> =>
      exec(command, [...args, ...(file === '' ? [] : [file])], {
        // A proxy applies to other machines only.
        env: {
          PATH: process.env['PATH'],
          HOME: process.env['HOME'],
          http_proxy: NOWHERE,
          COUNTERSIGN_URL: home.address,
          ...env,
        },
        input,
      })

    describe(language, () => {
      it('makes a token, lists the connections, checks words and stamps a file', async () => {
        const spoken = await words(`Together, in ${language}`)
        const { code, stdout, stderr } = await run({}, { input: `${spoken}\n` })
        assert.deepEqual([code, stderr], [0, ''])
        const lines = stdout.trimEnd().split('\n')
        const listed = new RegExp(`^con_\\w{26} {2}Together, in ${language} \\(active\\)$`)
        assert.equal(lines.filter((line) => listed.test(line)).length, 1, stdout)
        const [verified = '', url = ''] = lines.slice(-2)
        assert.match(verified, new RegExp(`^Verified: .* "Together, in ${language}" \\(`))
        assert(url.startsWith(`${home.accountAddress}/s/stm_`), url)
        const [newest] = (await asOwner('GET', '/api/v1/api-tokens')).items
        assert.deepEqual([newest.name, newest.scope], ['example', 'write'])
        assert.notEqual(newest.expires_at, null)
      })

      it('takes a token from the environment, and makes none', async () => {
        const token = await home.token('write')
        const before = (await asOwner('GET', '/api/v1/api-tokens')).items.length as number
        const { code, stdout, stderr } = await run({ COUNTERSIGN_TOKEN: token })
        assert.deepEqual([code, stderr], [0, ''])
        assert.equal((await asOwner('GET', '/api/v1/api-tokens')).items.length, before)
        assert.doesNotMatch(stdout, /csd_/)
      })

      it('lists every connection, over several pages', async () => {
        const { code, stdout } = await run({})
        assert.equal(code, 0)
        const names = [...stdout.matchAll(/^con_\w+ {2}(.+) \(/gm)].map(([, name]) => name)
        assert.deepEqual(
          NAMES.filter((name) => !names.includes(name)),
          [],
        )
        const ids = [...stdout.matchAll(/^con_\w+/gm)].map(([id]) => id)
        assert.equal(new Set(ids).size, ids.length)
      })

      for (const bind of ['127.0.0.2', '::1'])
        it(`uses the address and port of SVC_HTTP_BIND=${bind} and SVC_HTTP_PORT`, async (t) => {
          const other = await startDaemon({ SVC_HTTP_BIND: bind })
          t.after(() => other.close())
          const { port } = new URL(other.address)
          const { code, stdout, stderr } = await run({
            COUNTERSIGN_URL: undefined,
            SVC_HTTP_BIND: bind,
            SVC_HTTP_PORT: port,
          })
          assert.deepEqual([code, stderr], [0, ''])
          // The link names the account server of the daemon that returned it.
          assert(stdout.startsWith(`${other.accountAddress}/s/stm_`), stdout)
        })

      const faults: [
        name: string,
        env: (t: TestContext) => Promise<NodeJS.ProcessEnv>,
        given: { input?: string; file?: string },
        told: RegExp,
      ][] = [
        [
          'no daemon',
          async () => ({ COUNTERSIGN_URL: NOWHERE, COUNTERSIGN_TOKEN: 'csd_x' }),
          {},
          /No daemon answers at http:\/\/127\.0\.0\.1:1: .*countersignd serve/,
        ],
        [
          'an unknown token',
          async () => ({ COUNTERSIGN_TOKEN: 'csd_x' }),
          {},
          /wrong, expired or revoked/,
        ],
        [
          'a token of a narrower scope',
          async () => ({ COUNTERSIGN_TOKEN: await home.token('read') }),
          {},
          /scope is read; POST \/api\/v1\/stamp requires write or full/,
        ],
        ['two words', async () => ({}), { input: 'matador carload' }, /Three words are needed/],
        ['no file', async () => ({}), { file: '' }, /Name a file to stamp/],
        ['a missing file', async () => ({}), { file: '/nowhere' }, /\/nowhere/],
      ]
      for (const [name, env, given, expected] of faults)
        it(`${name}: prints an error, and exits with 1`, async (t) => {
          const { code, stderr } = await run(await env(t), given)
          assert.equal(code, 1, stderr)
          assert.match(stderr, expected)
          assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
          assert.doesNotMatch(stderr, /csd_/)
        })
    })
  }

  it('the shell client passes no token in arguments', async () => {
    const bin = await mkdtemp(join(folder, 'bin-'))
    const recordFile = join(bin, 'heard')
    for (const program of ['curl', 'jq']) {
      const text = `#!/bin/sh\nprintf '%s\\n' "$*" >>'${recordFile}'\nPATH=\${PATH#*:} exec ${program} "$@"\n`
      await writeFile(join(bin, program), text)
      await chmod(join(bin, program), 0o755)
    }
    const env = { PATH: `${bin}:${process.env['PATH']}`, COUNTERSIGN_URL: home.address }
    const input = 'matador carload recede\n'
    const args = [join(folder, 'invoice.txt')]
    const { code } = await exec(join(EXAMPLES, 'client.sh'), args, { env, input })
    assert.equal(code, 0)
    const text = await readFile(recordFile, 'utf8')
    assert.match(text, /\/api\/v1\/stamp/)
    assert.doesNotMatch(text, /csd_|matador/)
    assert(!text.includes(DIGEST))
  })
})

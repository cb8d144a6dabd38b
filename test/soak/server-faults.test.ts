/**
 * An account server with faulty, slow, partial or missing answers, before a running daemon: each
 * call fails as documented, operations without the server go on, no acknowledged write is lost or
 * doubled, and all works again as soon as the server does.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { commandLineToken } from '../../src/auth/proof.ts'
import { statusOf } from '../../src/errors.ts'
import { type Runtime, readRuntime, stateSecret } from '../../src/storage/runtime-file.ts'
import { startAccountServer } from '../account-server.ts'
import { type Answer, type Question, ask } from '../daemon.ts'
import { type Running, startDaemon } from '../e2e/program.ts'
import { login } from '../e2e/servers.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { FAULTS, type Fault, type Front, startFront } from './server-faults-front.ts'
import { sized } from './size.ts'

const HASTY = pathToFileURL(join(import.meta.dirname, 'hasty.ts')).href
const EMAIL = 'ada@example.org'
/** A read that this device has no copy of, so that it always asks the account server. */
const UNCOPIED = '/api/v1/open-links/suggest'
/** The number of rounds of each fault. */
const ROUNDS = sized(1, 5)
/** The faults of this size. */
const faults = FAULTS.filter(({ isLike }) => isLike === undefined || sized(0, 1) === 1)
/**
 * The most growth of the daemon, for any answer: it holds up to 16 MiB of an answer, several at
 * once.
 */
const MOST_GROWTH = 256 * 1024 * 1024

/** Returns the present and the peak memory of a process, in bytes (proc(5)). */
function memoryOf(pid: number): { now: number; peak: number } | null {
  if (process.platform !== 'linux') return null
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
  return { now: of('VmRSS'), peak: of('VmHWM') }
}

interface Site {
  readonly front: Front
  readonly daemon: Running
  /** A daemon without a signed-in user. */
  readonly fresh: Running
  readonly connection: string
  readonly call: (method: string, path: string, question?: Question) => Promise<Answer>
  readonly callFresh: (method: string, path: string, question?: Question) => Promise<Answer>
}

async function newSite(t: TestContext): Promise<Site> {
  const front = await startFront(t)
  const server = await startAccountServer(t, { SVC_PUBLIC_URL: front.url })
  front.to = Number(new URL(server.address).port)
  const env = { SVC_BACKEND_URL: front.url, NODE_OPTIONS: `--import=${HASTY}` }
  const start = async () => {
    const daemon = await startDaemon(freshFolder(t), env)
    t.after(() => daemon.end('SIGKILL'))
    const { nonce } = readRuntime(daemon.stateDir) as Runtime
    const token = commandLineToken(stateSecret(daemon.stateDir), nonce)
    const call: Site['call'] = (method, path, question) =>
      ask(daemon.address, method, path, { token, ...question })
    return { daemon, call }
  }
  const [{ daemon, call }, fresh] = await Promise.all([start(), start()])
  await login(daemon.stateDir, {
    server: front.url,
    mailDir: join(server.stateDir, 'mail'),
    email: EMAIL,
  })
  const made = await call('POST', '/api/v1/connections', { body: { name: 'Bank' } })
  assert.equal(made.status, 201, made.text)
  return {
    front,
    daemon,
    fresh: fresh.daemon,
    connection: (made.json as { id: string }).id,
    call,
    callFresh: fresh.call,
  }
}

const errorOf = ({ status, json, text }: Answer) => {
  const { error } = (json ?? {}) as { error?: string }
  return error === undefined ? `${status} ${text.slice(0, 200)}` : `${status} ${error}`
}

/** Returns the items of a list of the account. */
async function itemsOf(site: Site, path: string): Promise<Record<string, unknown>[]> {
  const { status, json, text } = await site.call('GET', `${path}?limit=200`)
  assert.equal(status, 200, text)
  return (json as { items: Record<string, unknown>[] }).items
}

const uptimeOf = async ({ daemon }: Site) =>
  ((await ask(daemon.address, 'GET', '/health')).json as { uptime_s: number }).uptime_s

describe('an account server', () => {
  /** Writes that were acknowledged while the server was faulty, and must be on it in the end. */
  const stored = { verifications: 0, stamps: [] as string[] }
  let site: Site
  let turn = 0

  it('works', async (t) => {
    // Ends with the suite, not with this test.
    site = await newSite({
      after: (end: () => unknown) => after.push(end),
    } as unknown as TestContext)
    const { status } = await site.call('POST', '/api/v1/sync')
    assert.equal(status, 200)
    t.diagnostic(`${faults.length} faults, ${ROUNDS} times each`)
  })

  async function suffers({ answer, code, isSlow, isObject, orLate }: Fault): Promise<void> {
    const { front, call, callFresh, connection } = site
    const codes = [code, ...(orLate ? (['backend_timeout'] as const) : [])].map(
      (one) => `${statusOf(one)} ${one}`,
    )
    const name = `tag-${turn++}`
    const tag = { body: { name }, headers: { 'Idempotency-Key': name } }
    front.fault = answer
    const before = front.damaged()
    const [signIn, read, write, chat, sync, words, verified, stamp] = await Promise.all([
      callFresh('POST', '/local/v1/sign-in', { body: { email: 'bob@example.org' } }),
      call('GET', UNCOPIED),
      call('POST', '/api/v1/tags', tag),
      // An assistant may take longer than the other rows; the result is the same.
      isSlow ? null : call('POST', '/api/v1/chat', { body: { message: 'How do I verify?' } }),
      call('POST', '/api/v1/sync'),
      call('GET', `/api/v1/connections/${connection}/code`),
      call('POST', '/api/v1/verify', { body: { words: 'matador carload recede' } }),
      call('POST', '/api/v1/stamp', { body: { content: name } }),
    ])
    assert(front.damaged() > before)
    // Operations that need the server.
    for (const one of [signIn, write]) assert(codes.includes(errorOf(one)), errorOf(one))
    // A read waits three seconds at most for a server that does not answer.
    assert([...codes, '503 backend_unavailable'].includes(errorOf(read)), errorOf(read))
    // No row defines the JSON of a chat: an object is passed on.
    if (chat !== null && !isObject) assert(codes.includes(errorOf(chat)), errorOf(chat))
    assert(codes.includes(errorOf(sync)), errorOf(sync))
    assert.match((sync.json as { message: string }).message, /account server/)
    // Operations that do not.
    assert.deepEqual([words.status, stamp.status], [200, 201], stamp.text)
    // Twenty wrong words a minute are checked.
    assert(verified.status === 200 || errorOf(verified) === '429 rate_limited', verified.text)
    const signed = stamp.json as { id: string; receipt: string | null }
    assert.equal(signed.receipt, null)
    if (verified.status === 200) stored.verifications++
    stored.stamps.push(signed.id)

    front.fault = null
    const again = await call('POST', '/api/v1/tags', tag)
    assert.equal(again.status, 201, again.text)
    const good = await call('POST', '/api/v1/sync')
    assert.equal((good.json as { last_sync: { ok: boolean } }).last_sync.ok, true, good.text)
    const begun = await callFresh('POST', '/local/v1/sign-in', {
      body: { email: 'bob@example.org' },
    })
    // The limit for a mailbox may be reached, which is not the server’s fault.
    assert([200, 429].includes(begun.status), begun.text)
    // Done once, for any number of requests.
    const tags = await itemsOf(site, '/api/v1/tags')
    assert.equal(tags.filter((one) => one['name'] === name).length, 1)
  }

  for (const fault of faults)
    it(`${fault.name}: ${fault.code}, and works again`, async () => {
      for (let round = 0; round < ROUNDS; round++) await suffers(fault)
    })

  it('has all acknowledged writes in the end, once', async () => {
    const log = await itemsOf(site, '/api/v1/verification-log')
    const ids = log.map(({ id }) => id)
    assert.equal(ids.length, Math.min(stored.verifications, 200))
    assert.equal(new Set(ids).size, ids.length)
    for (const id of stored.stamps) {
      const page = await ask(site.front.url, 'GET', `/s/${id}/file`)
      assert.equal(page.status, 200, page.text)
      assert.notEqual((page.json as { receipt?: string }).receipt, undefined)
    }
  })

  it('that rejects the session does not sign the daemon out', async () => {
    site.front.fault = (res) =>
      res
        .writeHead(401, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ error: 'invalid_token', message: 'No.' }))
    const read = () => site.call('GET', UNCOPIED)
    assert.equal(errorOf(await read()), '409 not_signed_in')
    site.front.fault = null
    assert.equal((await read()).status, 200)
  })

  it('causes no growth of the daemon’s memory, and no exit', async (t) => {
    const { pid } = readRuntime(site.daemon.stateDir) as Runtime
    const memory = memoryOf(pid)
    assert((await uptimeOf(site)) > 0)
    if (memory === null) return
    const mib = (bytes: number) => Math.round(bytes / 1024 / 1024)
    t.diagnostic(`RSS ${mib(memory.now)} MiB, at most ${mib(memory.peak)} MiB`)
    assert(memory.peak < MOST_GROWTH + 100 * 1024 * 1024, `${mib(memory.peak)} MiB`)
    assert(!site.daemon.log().includes('"internal"'), site.daemon.log())
    for (const end of after.toReversed()) await end()
  })

  const after: (() => unknown)[] = []
})

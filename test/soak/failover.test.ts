/**
 * Two account servers on PostgreSQL under Patroni, behind HAProxy: the primary is killed in the
 * middle of writes. Every acknowledged write is there, none is done twice, and the servers go on
 * without help. Runs in `npm run soak`, where the programs are installed.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { caller, keyedWrite, listed, mayPass, newToken } from '../e2e/caller.ts'
import { startDaemon } from '../e2e/program.ts'
import { login, startReplica } from '../e2e/servers.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'
import { missing, startCluster } from './patroni.ts'
import { sized } from './size.ts'

const AT_ONCE = 6
const ROUNDS = 4
/** The number of writes before and after each kill. An account has at most 1,000 such members. */
const WRITES = 80

const skip = sized(1, 0) === 1 ? 'runs in npm run soak' : missing

interface Writing {
  readonly address: string
  readonly token: string
  /** The names of the members that were acknowledged, by id. */
  readonly acknowledged: Map<string, string>
}

/**
 * Creates external members until it is stopped. A write without a good answer is repeated under its
 * key, as a script does that needs it done once.
 * @returns `stop` returns the longest time between two acknowledged writes, in milliseconds
 */
function write({ address, token, acknowledged }: Writing): { stop(): Promise<number> } {
  let [isStopped, last, gap] = [false, performance.now(), 0]

  async function one(): Promise<void> {
    while (!isStopped) {
      const display_name = randomUUID()
      const write = keyedWrite(token, randomUUID(), { display_name })
      for (let isDone = false; !isDone;) {
        const answer = await fetch(`${address}/api/v1/external-members`, write)
        const text = await answer.text()
        if (answer.status === 201) {
          acknowledged.set((JSON.parse(text) as { id: string }).id, display_name)
          gap = Math.max(gap, performance.now() - last)
          last = performance.now()
          isDone = true
        } else assert(mayPass(answer.status, text), `${answer.status} ${text}`)
      }
    }
  }
  const running = Promise.all(Array.from({ length: AT_ONCE }, one))
  return {
    stop: async () => {
      isStopped = true
      await running
      return gap
    },
  }
}

test('the primary is killed under write load', { skip }, async (t: TestContext) => {
  const cluster = await startCluster(t)
  const mailDir = freshFolder(t)
  const shared = { databaseUrl: cluster.databaseUrl, publicUrl: cluster.url, mailDir }
  for (const port of cluster.servers) {
    const replica = await startReplica(t, port, shared)
    t.after(() => replica.end('SIGKILL'))
  }
  await until('a way to the account servers', async () => {
    const answer = await fetch(`${cluster.url}/health`).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.ok
  })
  const dir = freshFolder(t)
  const daemon = await startDaemon(dir, { SVC_BACKEND_URL: cluster.url })
  t.after(() => daemon.end('SIGKILL'))
  await login(dir, { server: cluster.url, mailDir, email: 'ada@example.org' })
  const { token } = await newToken(daemon.address)
  const writing: Writing = { address: daemon.address, token, acknowledged: new Map() }
  const { acknowledged } = writing
  /** Resolves when so many more writes were acknowledged. */
  const more = (count: number) => {
    const goal = acknowledged.size + count
    return until(`${count} more writes`, () => acknowledged.size >= goal)
  }

  for (let round = 0; round < ROUNDS; round++) {
    const isWhole = round % 2 === 1
    const writer = write(writing)
    await more(WRITES)
    const killed = await until('a primary', () => cluster.primary())
    await cluster.kill(killed, isWhole)
    await more(WRITES)
    const seconds = ((await writer.stop()) / 1000).toFixed(1)
    const what = isWhole ? 'the machine of the primary' : 'PostgreSQL of the primary'
    t.diagnostic(`${what} killed: ${seconds} s without a write, ${acknowledged.size} acknowledged`)
    await cluster.rejoin(killed)
  }

  const members = await listed(caller(daemon.address, token), '/api/v1/external-members')
  const found = new Map(members.map((it) => [it.id as string, it.display_name as string]))
  const lost = [...acknowledged].filter(([id, name]) => found.get(id) !== name)
  assert.deepEqual(lost, [])
  assert.equal(new Set(found.values()).size, found.size, 'no write was done twice')
})

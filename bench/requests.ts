/**
 * Measures the processor time of requests to the daemon, as ratios to a peer that gives the same
 * answers: bare node:http, or fastify with prepared statements (`peer.ts`). Daemon and peer are
 * measured in alternation, after a warm-up of the compiler: both are compared as they run for
 * hours.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { report } from './figures.ts'
import { type Connections, connections, load } from './load.ts'
import { type Program, cost, listening, spawnBare, spawnDaemon, spawnPeer } from './programs.ts'

const DAEMON = 19_831
const PEER = 19_832
const ROUNDS = 5
/** Requests before the measured ones. After 8,000, the compiler still uses a fifth of the time. */
const WARM_UP = 24_000
const CONNECTIONS = 50
/** The tags that exist at once. An account has at most 200. */
const TAGS = 50
/** How often the tags are created in one round. */
const BATCHES = 10

interface Client {
  readonly token: string
  /** Returns the text of a request to one of the two programs. */
  readonly text: (method: string, path: string, body?: object) => string
  readonly call: (port: number, method: string, path: string, body?: object) => Promise<Response>
}

function clientOf(token: string): Client {
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json' }
  return {
    token,
    text: (method, path, body) => {
      const sent = body === undefined ? '' : JSON.stringify(body)
      const lines = [
        `${method} ${path} HTTP/1.1`,
        `Host: 127.0.0.1:${DAEMON}`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        'User-Agent: bench',
        ...(sent === ''
          ? []
          : [`Content-Type: application/json`, `Content-Length: ${sent.length}`]),
      ]
      return `${lines.join('\r\n')}\r\n\r\n${sent}`
    },
    call: async (port, method, path, body) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { ...headers, ...(body && { 'Content-Type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
      return answer
    },
  }
}

const json = async (answer: Promise<Response>) =>
  (await (await answer).json()) as Record<string, string>

/** Returns headers and body of a response of the daemon, for bare node:http to send. */
async function captured(answer: Response) {
  const own = new Set(['date', 'connection', 'keep-alive'])
  const headers = [...answer.headers].filter(([name]) => !own.has(name)).flat()
  return { headers, body: await answer.text() }
}

interface Round {
  /** The number of requests. */
  readonly count: number
  /** The number of connections. They stay open, because the daemon looks up the peer of each. */
  readonly connections?: number
  /** Sends the requests to a program, and returns its processor time in milliseconds. */
  readonly run: (program: Program, to: Connections) => Promise<number>
}

/** Returns a round of `count` equal requests. */
const equal = (count: number, text: () => string): Round => ({
  count,
  run: (program, to) => {
    const sent = text()
    return cost(program, () => to.send(() => sent, count))
  },
})

/** Returns a round of `count` equal requests, each on a new connection. */
const onNewConnections = (count: number, text: string): Round => ({
  count,
  run: (program) =>
    cost(program, async () => {
      for (let n = 0; n < count; n++) await load(program.port, () => text, 1, { connections: 1 })
    }),
})

/** Returns the processor time of the daemon as a multiple of the peer's, for each round. */
async function ratios(
  daemon: Program,
  peer: Program,
  round: Round,
  warmUp = WARM_UP,
): Promise<number[]> {
  const opened = new Map(
    [daemon, peer].map((program) => [program, connections(program.port, round.connections)]),
  )
  const run = (program: Program) => round.run(program, opened.get(program)!)
  for (let sent = 0; sent < warmUp; sent += round.count)
    for (const one of [daemon, peer]) await run(one)
  const found: number[] = []
  for (let turn = 0; turn < ROUNDS; turn++) {
    const theirs = await run(peer)
    found.push((await run(daemon)) / theirs)
  }
  for (const each of opened.values()) each.close()
  return found
}

/**
 * Returns a round that creates tags. Their deletion, which makes room for the next ones, is not
 * counted.
 */
function creatingTags({ text }: Client): Round {
  let number = 0
  const next = () => text('POST', '/api/v1/tags', { name: `Tag ${++number}`, color: '#2453b8' })
  const run = async (program: Program, to: Connections) => {
    let used = 0
    for (let batch = 0; batch < BATCHES; batch++) {
      const paths: string[] = []
      const onAnswer = (answer: string) =>
        void paths.push(`/api/v1/tags/${/"id":"(\w+)"/.exec(answer)?.[1]}`)
      used += await cost(program, () => to.send(next, TAGS, onAnswer))
      await to.send(() => text('DELETE', paths.pop() as string), TAGS)
    }
    return used
  }
  return { count: BATCHES * TAGS, connections: 1, run }
}

async function compareToBare(
  daemon: Program,
  client: Client,
  { id, stateDir }: { readonly id: string; readonly stateDir: string },
): Promise<void> {
  const path = `/api/v1/connections/${id}/code`
  const bare = async (answer: Promise<Response>, database?: string) => {
    const made = spawnBare(PEER, await captured(await answer), database)
    await listening(made)
    return made
  }
  const code = await bare(client.call(DAEMON, 'GET', path))
  const reading = equal(8_000, () => client.text('GET', path))
  report(
    'bare node:http ÷ ours, GET /api/v1/connections/{id}/code',
    (await ratios(daemon, code, reading)).map((ratio) => 1 / ratio),
  )
  report(
    'ours ÷ bare node:http, the same on a new connection each',
    await ratios(daemon, code, onNewConnections(200, client.text('GET', path)), 0),
  )
  await code.stop()

  // Own words: they are checked and logged like all others, and they are no wrong attempt.
  let words = ''
  const renew = async () => ({ words } = (await json(client.call(DAEMON, 'GET', path))) as never)
  await renew()
  const verified = () => client.call(DAEMON, 'POST', '/api/v1/verify', { words })
  const { count, run } = equal(1_000, () => client.text('POST', '/api/v1/verify', { words }))
  const checking: Round = {
    count,
    run: async (program, to) => {
      await renew()
      return run(program, to)
    },
  }
  const verify = await bare(verified())
  report(
    'ours ÷ bare node:http with validation, POST /api/v1/verify',
    await ratios(daemon, verify, checking),
  )
  await verify.stop()
  const durable = await bare(verified(), join(stateDir, 'bodies.db'))
  report(
    'ours ÷ the same with one durable write of better-sqlite3, POST /api/v1/verify',
    await ratios(daemon, durable, checking),
  )
  await durable.stop()
}

async function compareToPeer(
  daemon: Program,
  client: Client,
  of: { readonly id: string; readonly account: string; readonly stateDir: string },
): Promise<void> {
  const { id, account, stateDir } = of
  const database = join(stateDir, 'peer.db')
  const own = new DatabaseSync(join(stateDir, 'account.db'))
  own.exec(`vacuum into '${database}'`)
  own.close()
  const peer = spawnPeer(PEER, { database, token: client.token, account })
  await listening(peer)
  const paths: [path: string, count: number][] = [
    [`/api/v1/connections/${id}`, 2_000],
    [`/api/v1/connections?limit=${CONNECTIONS}`, 400],
  ]
  for (const [path, count] of paths) {
    const [ours, theirs] = [DAEMON, PEER].map((port) => json(client.call(port, 'GET', path)))
    assert.deepEqual(await ours, await theirs)
    const what = `ours ÷ fastify with better-sqlite3, GET ${path.replace(id, '{id}')}`
    report(
      what,
      await ratios(
        daemon,
        peer,
        equal(count, () => client.text('GET', path)),
      ),
    )
  }
  report(
    'ours ÷ fastify with better-sqlite3, POST /api/v1/tags',
    await ratios(daemon, peer, creatingTags(client)),
  )
  await peer.stop()
}

/** Measures the requests of a daemon on this state folder, and prints the ratios. */
export async function compareRequests(stateDir: string): Promise<void> {
  const daemon = spawnDaemon(DAEMON, stateDir)
  await listening(daemon)
  const anyone = clientOf('')
  const made = anyone.call(DAEMON, 'POST', '/api/v1/token', { name: 'bench', scope: 'full' })
  const client = clientOf((await json(made))['token'] ?? '')
  const post = (path: string, body?: object) => json(client.call(DAEMON, 'POST', path, body))
  const tag = await post('/api/v1/tags', { name: 'Family' })
  let id = ''
  for (let n = 0; n < CONNECTIONS; n++) {
    id = (await post('/api/v1/connections', { name: `Friend ${n}` }))['id'] ?? ''
    await post(`/api/v1/tags/${tag['id']}/assign/${id}`)
  }
  const { user } = (await json(client.call(DAEMON, 'GET', '/api/v1/context'))) as never as {
    user: { id: string }
  }
  await compareToBare(daemon, client, { id, stateDir })
  await compareToPeer(daemon, client, { id, account: user.id, stateDir })
  await daemon.stop()
}

/**
 * PostgreSQL under Patroni with etcd, behind HAProxy: what an operator runs to survive the loss of
 * a database server. All four are the programs of the system (Debian: `patroni`, `etcd-server`,
 * `haproxy`, `postgresql`).
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { until } from '../until.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { freePort } from '../free-port.ts'

const PATRONI = '/usr/bin/patroni'
const ETCD = '/usr/bin/etcd'
const HAPROXY = '/usr/sbin/haproxy'
/** Debian’s programs of PostgreSQL, of the newest installed version. */
const BINARIES = existsSync('/usr/lib/postgresql')
  ? readdirSync('/usr/lib/postgresql')
      .map((version) => `/usr/lib/postgresql/${version}/bin`)
      .at(-1)
  : undefined

/** Why no cluster can run here, or false. */
export const missing: string | false =
  [PATRONI, ETCD, HAPROXY, BINARIES ?? 'PostgreSQL of the system']
    .filter((path) => !existsSync(path))
    .map((path) => `no ${path}`)
    .join(', ') || false

const PASSWORD = 'secret-of-tests'

interface Node {
  readonly name: string
  readonly port: number
  readonly restPort: number
  readonly dir: string
}

export interface Cluster {
  /** The URL of a database, on whichever node is the primary. */
  readonly databaseUrl: string
  /** The address of the account servers, behind HAProxy. */
  readonly url: string
  /** The ports on which the account servers must listen. */
  readonly servers: readonly [number, number]
  /** Returns the name of the primary; undefined if there is none. */
  primary(): Promise<string | undefined>
  /** Kills PostgreSQL of a node; with `whole`, Patroni as well, as if the machine were lost. */
  kill(name: string, whole: boolean): Promise<void>
  /** Starts a killed node again; resolves when it is a synchronous standby. */
  rejoin(name: string): Promise<void>
}

/** The account as which PostgreSQL runs: it refuses to run as root. */
function owner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (option: string) => Number(execFileSync('id', [option, 'postgres']))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** Starts a program that the test ends. Its output goes to a file in the folder. */
function program(t: TestContext, command: string, args: readonly string[], cwd: string) {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
    stdio: 'ignore',
    ...(command === PATRONI ? owner() : {}),
  })
  t.after(() => end(child))
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'exit')
  child.kill('SIGKILL')
  await closed
}

/** What all nodes share. JSON is YAML. */
const configOf = (node: Node, etcdPort: number, ttlSeconds: number) => ({
  scope: 'countersign',
  name: node.name,
  restapi: { listen: `127.0.0.1:${node.restPort}`, connect_address: `127.0.0.1:${node.restPort}` },
  etcd3: { host: `127.0.0.1:${etcdPort}` },
  bootstrap: {
    dcs: {
      ttl: ttlSeconds,
      loop_wait: 2,
      retry_timeout: 5,
      // A primary that dies is not waited for.
      primary_start_timeout: 0,
      // A commit is acknowledged when the standby has it.
      synchronous_mode: true,
      postgresql: { use_pg_rewind: true, parameters: { max_connections: 100 } },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    pg_hba: [
      'host replication replicator 127.0.0.1/32 md5',
      'host all all 127.0.0.1/32 md5',
      'local all all md5',
    ],
  },
  postgresql: {
    listen: `127.0.0.1:${node.port}`,
    connect_address: `127.0.0.1:${node.port}`,
    data_dir: join(node.dir, 'data'),
    bin_dir: BINARIES,
    pgpass: join(node.dir, 'pgpass'),
    authentication: {
      superuser: { username: 'postgres', password: PASSWORD },
      replication: { username: 'replicator', password: PASSWORD },
    },
    parameters: { unix_socket_directories: node.dir },
  },
})

/** Both services close the connections to a server that is down, so that clients notice it. */
const haproxyOf = (of: {
  nodes: readonly Node[]
  database: number
  accounts: number
  servers: readonly number[]
}) => `
defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout check 1s
  default-server inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
listen database
  bind 127.0.0.1:${of.database}
  option httpchk GET /primary
  http-check expect status 200
${of.nodes.map(({ name, port, restPort }) => `  server ${name} 127.0.0.1:${port} check port ${restPort}\n`).join('')}
listen accounts
  bind 127.0.0.1:${of.accounts}
  option httpchk
  http-check send meth GET uri /health ver HTTP/1.1 hdr Host 127.0.0.1:${of.accounts}
  http-check expect status 200
${of.servers.map((port) => `  server a${port} 127.0.0.1:${port} check\n`).join('')}
`

/** A member as Patroni’s REST interface lists it. */
interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

const isUp = ({ state }: Member) => state === 'running' || state === 'streaming'

/**
 * Starts etcd, the nodes of PostgreSQL and HAProxy; resolves when there is a primary with a
 * synchronous standby, and an empty database.
 * @param ttlSeconds after how many seconds without a sign of life a primary is replaced; Patroni
 *   allows no less than 20
 */
export async function startCluster(t: TestContext, ttlSeconds = 20): Promise<Cluster> {
  const dir = freshFolder(t)
  chmodSync(dir, 0o755)
  const [etcdPort, peerPort, database, accounts] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const servers = [await freePort(), await freePort()] as const
  const nodes: Node[] = []
  for (const name of ['node1', 'node2', 'node3']) {
    const node = { name, port: await freePort(), restPort: await freePort(), dir: join(dir, name) }
    mkdirSync(node.dir, { mode: 0o700 })
    writeFileSync(
      join(node.dir, 'patroni.json'),
      JSON.stringify(configOf(node, etcdPort, ttlSeconds)),
    )
    const runsAs = owner()
    if (runsAs !== undefined)
      for (const path of [node.dir, join(node.dir, 'patroni.json')])
        chownSync(path, runsAs.uid, runsAs.gid)
    nodes.push(node)
  }
  const client = `http://127.0.0.1:${etcdPort}`
  const peer = `http://127.0.0.1:${peerPort}`
  program(
    t,
    ETCD,
    Object.entries({
      name: 'one',
      'data-dir': join(dir, 'etcd'),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `one=${peer}`,
      logger: 'zap',
      'log-outputs': '/dev/null',
    }).map(([name, value]) => `--${name}=${value}`),
    dir,
  )
  const running = new Map<string, ChildProcess>()
  const startNode = (node: Node) =>
    running.set(node.name, program(t, PATRONI, [join(node.dir, 'patroni.json')], node.dir))
  nodes.forEach(startNode)
  t.after(() => nodes.forEach(killPostgres))
  writeFileSync(join(dir, 'haproxy.cfg'), haproxyOf({ nodes, database, accounts, servers }))
  program(t, HAPROXY, ['-db', '-f', join(dir, 'haproxy.cfg')], dir)

  /** Returns the members in the list of the first node that answers. */
  async function members(): Promise<readonly Member[]> {
    for (const { restPort } of nodes) {
      const answer = await fetch(`http://127.0.0.1:${restPort}/cluster`).catch(() => null)
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members
    }
    return []
  }
  /**
   * Returns the name of the member with a role. A member that is lost keeps its role until its
   * lease ends.
   */
  const holder = async (role: string) =>
    (await members()).find((one) => one.role === role && isUp(one))?.name

  const primary = () => holder('leader')
  const nodeOf = (name: string) => nodes.find((node) => node.name === name)!
  await until('a primary', primary)
  await until('a synchronous standby', () => holder('sync_standby'))
  const at = (name: string) => `postgres://postgres:${PASSWORD}@127.0.0.1:${database}/${name}`
  await until('a way to the primary', async () => {
    const admin = new pg.Client(at('postgres'))
    try {
      await admin.connect()
      await admin.query('create database countersign')
      return true
    } catch {
      return false
    } finally {
      await admin.end().catch(() => undefined)
    }
  })
  return {
    databaseUrl: at('countersign'),
    url: `http://127.0.0.1:${accounts}`,
    servers,
    primary,
    async kill(name, whole) {
      const patroni = running.get(name)!
      // Before PostgreSQL, which Patroni would start again.
      if (whole) await end(patroni)
      killPostgres(nodeOf(name))
    },
    async rejoin(name) {
      const patroni = running.get(name)!
      if (patroni.exitCode !== null || patroni.signalCode !== null) startNode(nodeOf(name))
      await until('all nodes', async () => {
        const all = await members()
        return all.length === nodes.length && all.every(isUp)
      })
      await until('a synchronous standby', () => holder('sync_standby'))
    },
  }
}

/** Kills all processes of a node’s PostgreSQL at once: they end with their first process. */
function killPostgres({ dir }: Node): void {
  const file = join(dir, 'data/postmaster.pid')
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
  assert(pid > 1, file)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

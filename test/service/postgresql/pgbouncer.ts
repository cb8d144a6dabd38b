/** A real PgBouncer for tests, in transaction mode, with a folder and a port of its own. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { freePort } from '../../free-port.ts'

/** The program: the installed one, or another version by its path. */
const PROGRAM = process.env['PGBOUNCER'] ?? 'pgbouncer'

/** Returns the version of PgBouncer; null if there is none. */
export const pgbouncerVersion = (): string | null =>
  /^PgBouncer (\S+)/.exec(
    spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout ?? '',
  )?.[1] ?? null

/** Why tests with PgBouncer are skipped, or false. */
export const withoutPgbouncer = pgbouncerVersion() === null && 'there is no pgbouncer'

/**
 * Starts a pooler for a database. Each transaction gets any of its connections to PostgreSQL.
 * @param connections the number of these connections
 * @returns the URL of the database through the pooler
 */
export async function startPgbouncer(
  t: TestContext,
  url: string,
  connections: number,
): Promise<string> {
  const { hostname, port, pathname, username, password } = new URL(url)
  const [folder, own] = [freshFolder(t), await freePort()]
  // As root, PgBouncer runs as another user.
  chmodSync(folder, 0o755)
  const file = join(folder, 'pgbouncer.ini')
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${own}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${connections}`,
    // Takes the connections in turn, so that consecutive transactions get different ones.
    'server_round_robin = 1',
  ]
  writeFileSync(file, settings.join('\n'), { mode: 0o644 })
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(PROGRAM, [...user, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'close')
  t.after(async () => {
    child.kill('SIGINT')
    await ended
  })
  const lines = createInterface(child.stderr)
  await new Promise<void>((resolve, reject) => {
    const seen: string[] = []
    lines.on('line', (line) => {
      seen.push(line)
      if (/process up/.test(line)) resolve()
    })
    child.on('close', () => reject(new Error(`PgBouncer does not start:\n${seen.join('\n')}`)))
  })
  return `postgres://any@127.0.0.1:${own}${pathname}`
}

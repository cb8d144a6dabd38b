/**
 * A machine in memory: its files, and the programs that were run, with results that the test
 * sets.
 */
import type { CommandWords } from '../../../src/cli/service/definition.ts'
import type { Host, Ran, Seen } from '../../../src/cli/service/machine.ts'

export const DONE: Ran = { code: 0, out: '', err: '' }

interface Entry {
  readonly content: Uint8Array
  readonly mode: number
}

export interface Wish extends Partial<Omit<Host, 'run'>> {
  readonly files?: Readonly<Record<string, string>>
  /** The result of a program; undefined for success without output. */
  readonly answer?: (line: string) => Ran | undefined
  /** Throws for the paths that the file system rejects. */
  readonly refuse?: (path: string) => void
}

const EXECUTABLE: Host['self'] = {
  isExecutable: true,
  words: ['/home/anna/Downloads/countersignd-linux-x64'],
}

export function fakeMachine(wish: Wish = {}) {
  const { files = {}, answer = () => undefined, refuse = () => undefined, ...more } = wish
  const there = new Map<string, Entry>(
    Object.entries(files).map(([path, content]) => [
      path,
      { content: Buffer.from(content), mode: 0o644 },
    ]),
  )
  /** All operations, in order. */
  const deeds: string[] = []
  const environments: NodeJS.ProcessEnv[] = []
  const write = (path: string, entry: Entry) => {
    refuse(path)
    there.set(path, entry)
  }
  const inFolder = (path: string) => [...there.keys()].filter((name) => name.startsWith(`${path}/`))
  const lstat = (path: string): Seen | null => {
    const file = there.get(path)
    const folder = { uid: 0, mode: 0o755, isFolder: true, isLink: false }
    if (file !== undefined) return { ...folder, mode: file.mode, isFolder: false }
    return inFolder(path).length > 0 ? folder : null
  }
  const machine: Host = {
    platform: 'linux',
    uid: 0,
    home: '/root',
    env: {},
    self: EXECUTABLE,
    lstat,
    read: (path) => there.get(path)?.content ?? null,
    list: (path) => inFolder(path).map((name) => name.slice(path.length + 1)),
    write(path, content, mode) {
      write(path, { content, mode })
      deeds.push(`write ${path} ${mode.toString(8)}`)
    },
    copy(from, to, mode) {
      write(to, { content: there.get(from)?.content ?? Buffer.from(`copy of ${from}`), mode })
      deeds.push(`copy ${from} ${to} ${mode.toString(8)}`)
    },
    remove(path) {
      refuse(path)
      if (there.delete(path)) deeds.push(`remove ${path}`)
    },
    removeFolder: (path) => inFolder(path).length === 0,
    async run(words: CommandWords, env = {}) {
      const line = words.join(' ')
      deeds.push(line)
      environments.push(env)
      return answer(line) ?? DONE
    },
    ...more,
  }
  return {
    machine,
    deeds,
    environments,
    files: there,
    text: (path: string) => Buffer.from(there.get(path)?.content ?? []).toString('utf8'),
  }
}

/** Returns an error of a file system. */
export const refusal = (code: string): Error => Object.assign(new Error(code), { code })

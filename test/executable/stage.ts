/**
 * A folder for the executable as its user has it: alone, started by an unprivileged user, with
 * only the given environment, and without a Node on the path.
 */
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { TEST_LIMIT_MS } from '../limit.ts'

const NOBODY = 65_534
/** Only root can start processes of another user. */
const OTHER = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

/** The command that runs an executable: itself, or an emulator of its processor. */
export type Command = readonly [program: string, ...words: string[]]

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Serving {
  readonly address: string
  readonly accountAddress: string
  readonly pid: number
  log(): string
  /** Stops the process normally; returns the exit code. */
  end(): Promise<number | null>
}

export interface Stage {
  readonly folder: string
  readonly env: Record<string, string>
  readonly command: Command
  readonly user: { readonly uid?: number; readonly gid?: number }
  /**
   * Runs a command to its end; a function supplies the typed input when the command is ready for
   * it.
   */
  run(words: readonly string[], typed?: string | (() => Promise<string>)): Promise<Ran>
  /** Starts `serve` or `server` and waits until it listens. */
  serve(words?: readonly string[]): Promise<Serving>
}

interface Surroundings {
  readonly env?: Record<string, string>
  /** The command of the processor’s emulator. */
  readonly emulator?: readonly string[]
  /** Whether it runs as the user of the test: no other user can reach that user’s keychain. */
  readonly asSelf?: boolean
}

/** Copies an executable into a folder of its own, which is deleted after the test. */
export function newStage(t: TestContext, executable: string, given: Surroundings = {}): Stage {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-alone-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'countersignd')
  copyFileSync(executable, program)
  const state = join(folder, 'state')
  mkdirSync(state, { mode: 0o700 })
  const user = given.asSelf === true ? {} : OTHER
  if (user.uid !== undefined)
    for (const path of [folder, state]) chownSync(path, user.uid, user.gid)
  const [first, ...rest] = [...(given.emulator ?? []), program]
  const command: Command = [first, ...rest]
  const env = {
    SVC_STATE_DIR: state,
    SVC_KEYCHAIN: 'file',
    SVC_HTTP_PORT: '0',
    SVC_ACCOUNT_PORT: '0',
    ...given.env,
  }

  function begin(words: readonly string[]): ChildProcessWithoutNullStreams {
    const child = spawn(command[0], [...command.slice(1), ...words], {
      cwd: folder,
      // The coverage folder is not writable for the other user.
      env: { ...env, NODE_V8_COVERAGE: undefined },
      ...user,
      timeout: TEST_LIMIT_MS,
      killSignal: 'SIGKILL',
    })
    t.after(() => child.kill('SIGKILL'))
    return child
  }

  return {
    folder,
    env,
    command,
    user,
    async run(words, typed = '') {
      const child = begin(words)
      let [out, err] = ['', '']
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
      const closed = once(child, 'close') as Promise<[number | null]>
      child.stdin.end(typeof typed === 'string' ? typed : await typed())
      const [code] = await closed
      return { code, out, err }
    },
    async serve(words = ['serve']) {
      const child = begin([...words, '--json'])
      let log = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
      const closed = once(child, 'close') as Promise<[number | null]>
      const [line] = (await Promise.race([
        once(child.stdout.setEncoding('utf8'), 'data'),
        closed.then(([code]) => assert.fail(`it ended with ${code}: ${log}`)),
      ])) as [string]
      const { address, account_address: accountAddress } = JSON.parse(line) as Record<
        string,
        string
      >
      return {
        address: address as string,
        accountAddress: accountAddress as string,
        pid: child.pid as number,
        log: () => log,
        async end() {
          child.kill('SIGTERM')
          return (await closed)[0]
        },
      }
    },
  }
}

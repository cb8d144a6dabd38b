/**
 * Runs checks in a subprocess if they can block, for example on a keychain or a disk.
 *
 * The parent process can kill the subprocess. The subprocess reports each result immediately, so
 * that finished results are not lost.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { ownCommand } from '../../runtime/executable.ts'
import type { Finding } from './finding.ts'

const PATIENCE_MS = 5000

/** The checks of each subprocess. A blocked check does not affect the other subprocess. */
const TOGETHER = [['state.db', 'account.db', 'audit log'], ['keychain']] as const
export type Part = (typeof TOGETHER)[number][number]

/** Returns the findings of a check; null if the check took too long. */
export type Apart = (part: Part) => Promise<readonly Finding[] | null>

/**
 * One line of the subprocess's output. The output is an empty line, then a JSON line for each
 * check.
 */
export interface Reported {
  readonly part: string
  readonly findings: readonly Finding[]
}

/** Returns a parsed line; null if the line was cut off when the process was killed. */
function parsed(line: string): Reported | null {
  try {
    return JSON.parse(line) as Reported
  } catch {
    return null
  }
}

/** Starts a subprocess for these checks. It exits by itself, or is killed at the time limit. */
function looker(parts: readonly Part[], env: NodeJS.ProcessEnv): Apart {
  const reported = new Map<string, readonly Finding[]>()
  const [program, ...words] = ownCommand()
  const child = spawn(program, [...words, 'doctor', '--parts', parts.join(',')], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let late: NodeJS.Timeout | undefined
  createInterface({ input: child.stdout }).on('line', (line) => {
    // The first line marks the start of the checks. The time limit thus excludes the start of the
    // process.
    late ??= setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
    const one = parsed(line)
    if (one !== null) reported.set(one.part, one.findings)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(late)
      resolve(code)
    })
  })
  return async (part) => {
    const code = await ended
    const findings = reported.get(part)
    if (findings !== undefined) return findings
    if (code === null) return null
    throw new Error(`the process that checks it ended with exit code ${code}`)
  }
}

/**
 * Returns a function that runs checks in subprocesses.
 *
 * A subprocess is started when the first of its checks is run.
 * @param env the environment of the subprocesses
 */
export function newApart(env: NodeJS.ProcessEnv): Apart {
  const lookers = new Map<readonly Part[], Apart>()
  return async (part) => {
    const parts = TOGETHER.find((group) => (group as readonly Part[]).includes(part)) ?? [part]
    const asked = lookers.get(parts) ?? looker(parts, env)
    lookers.set(parts, asked)
    return asked(part)
  }
}

/**
 * What calls into something that nobody can interrupt (a keychain that hangs, a disk that does not answer) is looked at by a process
 * of its own, which can be ended. It tells one thing after the other, so that what it has told is known when it is.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { ownCommand } from '../../runtime/executable.ts'
import type { Finding } from './finding.ts'

const PATIENCE_MS = 5000

/** What one process looks at; nothing of one hides what another does. */
const TOGETHER = [['state.db', 'account.db', 'audit log'], ['keychain']] as const
export type Part = (typeof TOGETHER)[number][number]

/** What was found; null when it took too long. */
export type Apart = (part: Part) => Promise<readonly Finding[] | null>

/** How such a process says what it found: a line each, after an empty one. */
export interface Told {
  readonly part: string
  readonly findings: readonly Finding[]
}

/** A line; null for one that was cut when the process was ended. */
function parsed(line: string): Told | null {
  try {
    return JSON.parse(line) as Told
  } catch {
    return null
  }
}

/** Start the process that looks at these; it ends by itself, or is ended. */
function looker(parts: readonly Part[], env: NodeJS.ProcessEnv): Apart {
  const told = new Map<string, readonly Finding[]>()
  const [program, ...words] = ownCommand()
  const child = spawn(program, [...words, 'doctor', '--parts', parts.join(',')], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let late: NodeJS.Timeout | undefined
  createInterface({ input: child.stdout }).on('line', (line) => {
    // Its first line says that it begins: how long a start takes says nothing of what is looked at.
    late ??= setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
    const one = parsed(line)
    if (one !== null) told.set(one.part, one.findings)
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
    const findings = told.get(part)
    if (findings !== undefined) return findings
    if (code === null) return null
    throw new Error(`the process that looks at it ended with ${code}`)
  }
}

/** @param env of the processes, which are started when the first thing is asked of them */
export function newApart(env: NodeJS.ProcessEnv): Apart {
  const lookers = new Map<readonly Part[], Apart>()
  return async (part) => {
    const parts = TOGETHER.find((group) => (group as readonly Part[]).includes(part)) ?? [part]
    const asked = lookers.get(parts) ?? looker(parts, env)
    lookers.set(parts, asked)
    return asked(part)
  }
}

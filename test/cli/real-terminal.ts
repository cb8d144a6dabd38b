/** Runs the program at a real terminal: a pseudo-terminal that Python opens. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { PROGRAM } from '../e2e/program.ts'

/** Copies between its own pipes and the terminal of a command, and exits as the command does. */
const BRIDGE = `
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
`

/** Why tests at a real terminal are skipped; false if they can run. */
export const noRealTerminal =
  process.platform === 'win32' || spawnSync('python3', ['-c', 'import pty']).status !== 0
    ? 'needs python3'
    : false

/**
 * The keys to type once the terminal shows a prompt, or a function that makes them from the whole
 * output so far.
 */
export type Typing = readonly [prompt: string, keys: string | ((screen: string) => string)]

/**
 * Runs a command of the program and types at its prompts, in their order.
 * @returns the exit code and the whole output of the terminal
 */
export async function atRealTerminal(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  typings: readonly Typing[],
): Promise<{ code: number | null; screen: string }> {
  const bridge = spawn('python3', ['-c', BRIDGE, process.execPath, PROGRAM, ...args], {
    env: { ...env, TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let screen = ''
  let answered = 0
  const left = [...typings]
  bridge.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
    for (let next = left[0]; next !== undefined; next = left[0]) {
      const [prompt, keys] = next
      const at = screen.indexOf(prompt, answered)
      if (at === -1) return
      answered = at + prompt.length
      left.shift()
      bridge.stdin.write(typeof keys === 'string' ? keys : keys(screen))
    }
  })
  const [code] = (await once(bridge, 'close')) as [number | null]
  return { code, screen }
}

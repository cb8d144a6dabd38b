/** The program from its sources at a real terminal: a pseudo-terminal that Python opens. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

/** Copies between its own pipes and the terminal of a command, and exits as the command does. */
const BRIDGE = `
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
`

/** Why tests at a real terminal are skipped; false where they can run. */
export const noRealTerminal =
  process.platform === 'win32' || spawnSync('python3', ['-c', 'import pty']).status !== 0
    ? 'needs python3'
    : false

/** Keys to type once the terminal shows a prompt, or what makes them of all that it showed. */
export type Typing = readonly [prompt: string, keys: string | ((screen: string) => string)]

/**
 * Runs a command of the program and types at its prompts, each of which comes after the one before.
 * @returns the exit code and all that the terminal showed
 */
export async function atRealTerminal(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  typings: readonly Typing[],
): Promise<{ code: number | null; screen: string }> {
  const bridge = spawn('python3', ['-c', BRIDGE, process.execPath, MAIN, ...args], {
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

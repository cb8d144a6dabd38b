/** Opens a file with the program that the desktop has for it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** An opener that runs for longer shows the browser itself, and does not fail any more. */
const PATIENCE_MS = 3_000

/** Returns the system's opener with its arguments. The path is the only part that can vary. */
function openerOf(path: string, platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open', path]
  // `start` takes its first text in quotes as the title of a window.
  if (platform === 'win32') return ['cmd', '/d', '/c', 'start', '""', `"${path}"`]
  return ['xdg-open', path]
}

/** Returns an environment without the settings of this program, which may contain a token. */
const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('SVC_')))

/**
 * Opens a file in the browser.
 * @returns null; or the name of the opener if it is missing or failed
 */
export async function openInBrowser(
  path: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Promise<string | null> {
  const [program, ...args] = openerOf(path, platform)
  const child = spawn(program, args, {
    env: withoutSettings(env),
    detached: true,
    stdio: 'ignore',
    windowsVerbatimArguments: true,
  })
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort(), PATIENCE_MS)
  try {
    const [code] = (await once(child, 'exit', { signal: waiting.signal })) as [number | null]
    return code === 0 ? null : program
  } catch {
    // Either there is no such program, or it still runs.
    return waiting.signal.aborted ? null : program
  } finally {
    clearTimeout(timer)
    child.unref()
  }
}

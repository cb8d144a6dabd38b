import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Returns the ids of this process group and of the terminal's foreground group. */
function groups(): readonly (string | undefined)[] {
  if (process.platform !== 'linux') {
    const args = ['-o', 'pgid=,tpgid=', '-p', String(process.pid)]
    return execFileSync('ps', args, { encoding: 'utf8' }).trim().split(/\s+/)
  }
  // The name of the program, in parentheses, may contain spaces. After it come the state, the
  // parent, the group, the session, the terminal and the foreground group.
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return [fields[2], fields[5]]
}

/**
 * Returns whether this process may read from its terminal.
 *
 * The system stops a process in the background (`countersignd serve &`) that reads from it.
 */
export function isInForeground(): boolean {
  if (process.platform === 'win32') return true
  try {
    const [own, foreground] = groups()
    return own === foreground
  } catch {
    return false
  }
}

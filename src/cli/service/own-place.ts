/**
 * Checks the path of the program: only root may be able to replace what the system service runs.
 */
import { posix } from 'node:path'
import { StartError } from '../../errors.ts'
import type { Host } from './machine.ts'

/** Returns a path and all its parents, from the root on. */
const waysTo = (path: string): string[] =>
  path === '/' ? ['/'] : [...waysTo(posix.dirname(path)), path]

/**
 * Checks the file of a program, if it exists, and every folder above it.
 * @throws StartError stateUnsafe with the command that corrects the owner or mode
 */
export function requireOwnPlace(machine: Pick<Host, 'look'>, path: string): void {
  for (const step of waysTo(path)) {
    const seen = machine.look(step)
    if (seen === null) return
    if (seen.isLink)
      throw unsafe(
        `${step} is a link, and the service would run its target. Replace it by the ${step === path ? 'file' : 'folder'} itself.`,
      )
    if (seen.uid !== 0)
      throw unsafe(
        `${step} belongs to user ${seen.uid}, who could replace the program of the service: chown root '${step}'`,
      )
    if ((seen.mode & 0o022) !== 0)
      throw unsafe(
        `${step} can be changed by other users, who could replace the program of the service: chmod go-w '${step}'`,
      )
  }
}

const unsafe = (message: string) => new StartError('stateUnsafe', message)

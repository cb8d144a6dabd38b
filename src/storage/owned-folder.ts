import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, resolve, sep } from 'node:path'

/** The sticky bit: users cannot rename or delete the entries of others. */
const STICKY = 0o1000

/**
 * Returns the first folder on the way to a path that users other than the given ones control.
 *
 * Only the given users can then decide what the path is. Null if no such folder is found.
 * @param parent the resolved folder of the path
 */
export function foreignFolder(parent: string, owners: readonly number[]): string | null {
  for (let at = parent, last = ''; at !== last; at = dirname(at)) {
    last = at
    const { uid, mode } = lstatSync(at)
    // In a folder with the sticky bit, other users cannot rename an entry. But if it is the direct
    // parent, they could create the entry first.
    const isShared = at !== parent && (mode & STICKY) !== 0
    if (!owners.includes(uid) || (!isShared && (mode & 0o022) !== 0)) return at
  }
  return null
}

/**
 * Returns the first folder or link on the way to a path that users other than the given ones
 * control. Unlike `foreignFolder`, it also checks the links in the path, and their folders: the
 * owner of a link could change where the path leads after the check.
 * @param folder the absolute folder of the path
 * @throws what node:fs throws
 */
export function foreignOnWay(folder: string, owners: readonly number[]): string | null {
  const real = realpathSync(folder)
  const names = folder.split(sep)
  let at: string = sep
  // The number of links is limited: realpathSync throws if there are more.
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const step = resolve(at, name)
    const stat = lstatSync(step)
    if (!stat.isSymbolicLink()) {
      at = step
      continue
    }
    const foreign = owners.includes(stat.uid) ? foreignFolder(at, owners) : step
    if (foreign !== null) return foreign
    const target = readlinkSync(step)
    if (isAbsolute(target)) at = sep
    names.unshift(...target.split(sep))
  }
  return foreignFolder(real, owners)
}

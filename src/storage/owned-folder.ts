import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'

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

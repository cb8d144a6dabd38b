/** Checks the Unix socket of the API: who may connect, and whether the daemon has it. */
import { type Stats, lstatSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { foreignOnWay } from '../../storage/owned-folder.ts'
import type { DoctorCheck } from './check.ts'
import { type Finding, fail, ok, shellWord, warn } from './finding.ts'

const NAME = 'socket'
/** The mode of a socket to which a group can connect. */
const FOR_GROUP = 0o020

/** Returns the first folder above a path that a group cannot enter; null if there is none. */
function closedTo(gid: number, parent: string): string | null {
  for (let at = parent, last = ''; at !== last; at = dirname(at)) {
    last = at
    const stat = lstatSync(at)
    if ((stat.mode & (stat.gid === gid ? 0o010 : 0o001)) === 0) return at
  }
  return null
}

function admits(path: string, { uid, gid, mode }: Stats): Finding {
  if ((mode & 0o002) !== 0)
    return fail(
      NAME,
      `every user of this machine can connect to ${path}, and so create a token`,
      'Set SocketMode=0600 in the .socket unit, or restart the daemon if it created the socket.',
    )
  const folder = realpathSync(dirname(path))
  const foreign = foreignOnWay(dirname(path), [0, uid])
  if (foreign !== null)
    return fail(
      NAME,
      `other users can write to ${foreign}, so any of them could replace ${path}`,
      'Put the socket into a folder that only its owner or root can change.',
    )
  const who = `user ${uid} and root`
  if ((mode & FOR_GROUP) === 0) return ok(NAME, `${path}: ${who} can connect`)
  const closed = closedTo(gid, folder)
  return closed === null
    ? ok(NAME, `${path}: ${who} can connect, and members of group ${gid}, who can create tokens`)
    : warn(
        NAME,
        `members of group ${gid} cannot connect to ${path}, because they cannot enter ${closed}`,
        `chmod o+x ${shellWord(closed)}`,
      )
}

export const socketCheck: DoctorCheck = {
  name: NAME,
  async run({ config, holding }) {
    const held = await holding()
    const own = held.state === 'proven' ? held.socket : null
    const configured = config.socket?.path ?? null
    const found: Finding[] = []
    if (held.state === 'proven' && configured !== null && configured !== own)
      found.push(
        warn(
          NAME,
          `the environment of this command has the socket ${configured}, but the daemon has ${own ?? 'none'}`,
          'Restart the daemon with the same SVC_HTTP_SOCKET.',
        ),
      )
    const path = own ?? configured
    if (path === null) return found
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined)
      return own === null
        ? [...found, ok(NAME, `${path} does not exist; the daemon creates it`)]
        : [...found, fail(NAME, `${path} was removed while the daemon runs`, 'Restart the daemon.')]
    return stat.isSocket()
      ? [...found, admits(path, stat)]
      : [...found, fail(NAME, `${path} is not a socket`, `mv ${shellWord(path)} /another/place`)]
  },
}

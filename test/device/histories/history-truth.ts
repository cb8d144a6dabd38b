/**
 * The state of a connection by the second implementation of the protocol.
 * The results of devices at the end of a history are compared with it.
 */
import { keyCommitment } from '../../../src/crypto/logs/roster-form.ts'
import { type KeyLog, verifyKeyLog } from '../../second/key-log.ts'
import { type RosterSummary, rosterSummary, verifyRoster } from '../../second/roster.ts'
import type { Scene } from './history-steps.ts'
import type { Branch } from '../memory-branches.ts'
import type { Participant } from '../session/sessions.ts'

export interface Truth extends RosterSummary {
  readonly id: string
  readonly entries: readonly string[]
  readonly ended: boolean
  /** base64url, of the current epoch. */
  readonly kCommit: string
}

const verified = new Map<string, KeyLog>()

/** Returns the devices that a key log leaves active. */
export const activeIn = ({ server }: Scene, account: string): string[] =>
  [...logOf(server.logs, account).states.at(-1)!.devices]
    .filter(([, { revokedAt }]) => revokedAt === null)
    .map(([id]) => id)

function logOf(logs: ReadonlyMap<string, readonly string[]>, account: string): KeyLog {
  const entries = logs.get(account)!
  const key = entries.at(-1)!
  const log = verified.get(key) ?? verifyKeyLog(account, entries)
  verified.set(key, log)
  return log
}

/**
 * Evaluates one history of a connection.
 * @throws Refused for an entry that breaks a rule
 */
export function truthOf(
  { server }: Scene,
  id: string,
  { entries }: Pick<Branch, 'entries'>,
): Truth {
  const of = (account: string) => logOf(server.logs, account)
  const roster = verifyRoster(id, entries, null, of)
  const opener = roster.entries.findLast(({ kCommit }) => kCommit !== null)!
  return {
    ...rosterSummary(roster, of),
    id,
    entries: [...entries],
    ended: roster.states.at(-1)!.ended,
    kCommit: Buffer.from(opener.kCommit!).toString('base64url'),
  }
}

/** Returns all connections as the server has them. */
export const truths = (scene: Scene): Truth[] =>
  scene.server.rosters
    .ids()
    .flatMap((id) => scene.server.rosters.branches(id).map((branch) => truthOf(scene, id, branch)))

export const memberIn = ({ members }: Pick<Truth, 'members'>, { identity }: Participant) =>
  members.find(({ account }) => account === identity.account)

/** Returns whether a device has the secret of the current epoch. */
export function hasSecret({ id, epoch, kCommit }: Truth, { device }: Participant): boolean {
  const k = device.vault.get(id)
  return k !== null && keyCommitment(id, epoch, k) === kCommit
}

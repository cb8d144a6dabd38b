/**
 * What a roster and the newest key logs of its members say together (sections 3 and 4): whom K may
 * be sealed to, and what is due since the roster was last added to.
 */
import type { Device } from './key-log-v1.ts'
import type { Roster } from './roster-log-v1.ts'
import type { KeyLogs } from './roster-ops-v1.ts'

/**
 * The devices that K of the current epoch may be sealed to: those active in the newest known logs
 * of current members, none of a later generation than an owner confirmed. In order of joining,
 * then of addition.
 */
export function recipientsOf(
  roster: Roster,
  keyLogs: KeyLogs,
): { account: string; device: Device }[] {
  return roster.members.flatMap(({ account, generation }) => {
    const active = keyLogs.get(account)?.active ?? []
    return active
      .filter((device) => device.generation <= generation)
      .map((device) => ({ account, device }))
  })
}

/**
 * Whether `account` has to sign a rotation: somebody left, an owner removed itself and so knows
 * the K that it opened the epoch with, or the account revoked a device that may hold K
 * of the current epoch. An account whose reset no owner has confirmed signs nothing, so of it only
 * the former is said.
 */
export function rotationDue(roster: Roster, keyLogs: KeyLogs, account: string): boolean {
  const stays = roster.members.some((one) => one.account === roster.opener)
  if (roster.rotationPending || !stays) return true
  const member = roster.members.find((one) => one.account === account)
  const log = keyLogs.get(account)
  if (member === undefined || log === undefined || log.generation > member.generation) return false
  return [...log.devices.values()].some(({ revokedAt }) => (revokedAt ?? -1) > member.keyedSeq)
}

/**
 * Whether nothing of the connection may verify at `account`: it has to sign a rotation, or a
 * revoked device of another member may hold K, until that member rotates or, where it signs nothing
 * any more (all devices revoked or replaced), an owner removes or confirms it. A device that
 * revoked itself counts too: whoever stole it can sign it out and keep K. One of a later generation
 * than an owner confirmed never had K.
 */
export function heldBack(roster: Roster, keyLogs: KeyLogs, account: string): boolean {
  if (rotationDue(roster, keyLogs, account)) return true
  return roster.members.some(({ account: other, keyedSeq, generation }) =>
    [...(keyLogs.get(other)?.devices.values() ?? [])].some(
      (device) => device.generation <= generation && (device.revokedAt ?? -1) > keyedSeq,
    ),
  )
}

/**
 * The members whose key log was reset since an owner confirmed it (`changed_unverified`), in order
 * of joining: `remove` and `add` naming the new log confirms them.
 */
export function changedMembers(roster: Roster, keyLogs: KeyLogs): string[] {
  return roster.members
    .filter(({ account, generation }) => (keyLogs.get(account)?.generation ?? 0) > generation)
    .map(({ account }) => account)
}

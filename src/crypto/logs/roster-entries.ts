/**
 * Builds signed entries of a roster.
 *
 * Each builder verifies the entry that it made, so it never returns an invalid one.
 */
import { encodeBase64url } from '../encoding/base64url.ts'
import { NO_PREV } from './chain.ts'
import { signJws } from '../jose/jws-signature.ts'
import {
  keyCommitment,
  FORMS,
  readRosterEntry,
  type Payload,
  type RosterRole,
} from './roster-form.ts'
import { coveringPlaces } from '../recipients.ts'
import { requireThat } from '../refusal.ts'
import { verifyRoster, type Roster } from './roster-log.ts'
import type { KeyLogs } from './roster-ops.ts'

type Place = { seq: number; head: Uint8Array }

/** The device that signs an entry for a member, and its signing key. */
export type Signer = {
  actor: string
  device: string
  /** The seq and the hash (32 bytes) of the newest entry in the actor's key log. */
  actorLog: Place
  /** The thumbprint and the seed (32 bytes) of the device's signing key. */
  kid: string
  seed: Uint8Array
  /** In Unix seconds. */
  at: number
}

/**
 * The verified roster before an entry, and the verified key logs of all accounts that it ever
 * named.
 */
type Before = { roster: Roster; keyLogs: KeyLogs }
type What = Pick<Payload, 'op' | 'member' | 'member_log' | 'role' | 'consent'> & { k?: Uint8Array }

/**
 * Returns the entry that creates a connection, signed by a device of its creator, as a JWS.
 * @param of `k`: K of epoch 1 (32 bytes); `replaces`: the id of the forked connection that the new
 * one replaces
 * @throws Refusal as `readRosterEntry`; `bad_length`
 */
export function openEntry(
  of: { connection: string; k: Uint8Array; replaces?: string } & Signer,
): string {
  const { connection, k, replaces } = of
  const head = { connection, seq: 0, epoch: 1, prev: NO_PREV, op: 'open' } as const
  const jws = signEntry({ ...head, ...(replaces === undefined ? {} : { replaces }) }, k, of)
  readRosterEntry(jws)
  return jws
}

/**
 * Returns the next entry, in which an owner adds an account as a member.
 * @param of `memberLog`: the newest place in the account's verified key log, which `keyLogs` must
 * contain; `consent`: the JWS that a device of the account signed for this owner
 * @returns the JWS, which `verifyRoster` accepts after the entries of `roster`
 * @throws Refusal as `verifyRoster`; `bad_length` for the seed
 */
export function addMember(
  of: Before & { member: string; memberLog: Place; role: RosterRole; consent: string } & Signer,
): string {
  const { member, memberLog, role, consent } = of
  return nextEntry(of, { op: 'add', member, member_log: onWire(memberLog), role, consent })
}

/**
 * Returns the next entry, in which an owner confirms the new keys of another member.
 *
 * The new keys replaced all devices of the member.
 * @param of `memberLog`: the newest place in the member's verified key log, which `keyLogs` must
 * contain; `k`: K of the epoch that the entry opens (32 bytes)
 * @throws Refusal as `addMember`
 */
export function confirmMember(
  of: Before & { member: string; memberLog: Place; k: Uint8Array } & Signer,
): string {
  const { member, memberLog, k } = of
  return nextEntry(of, { op: 'confirm', member, member_log: onWire(memberLog), k })
}

/**
 * Returns the next entry, in which an owner removes another member.
 * @param of `k`: K of the epoch that the entry opens (32 bytes)
 * @throws Refusal as `addMember`; `bad_op` if the owner names itself: it would have the new K, so
 * it must use `leave`
 */
export function removeMember(of: Before & { member: string; k: Uint8Array } & Signer): string {
  const { member, k } = of
  requireThat(member !== of.actor, 'bad_op', 'an owner must leave instead of removing itself')
  return nextEntry(of, { op: 'remove', member, k })
}

/**
 * Returns the next entry, in which an owner changes the role of a member.
 * @throws Refusal as `addMember`
 */
export function changeRole(of: Before & { member: string; role: RosterRole } & Signer): string {
  const { member, role } = of
  return nextEntry(of, { op: 'role', member, role })
}

/**
 * Returns the next entry, in which a member leaves.
 * @throws Refusal as `addMember`
 */
export function leave(of: Before & Signer): string {
  return nextEntry(of, { op: 'leave' })
}

/**
 * Returns the next entry, in which a member gives the connection a new K (32 bytes).
 * @throws Refusal as `addMember`
 */
export function rotate(of: Before & { k: Uint8Array } & Signer): string {
  return nextEntry(of, { op: 'rotate', k: of.k })
}

/**
 * Returns the entry with which an owner ends the connection for all members. It is the last entry
 * of the roster.
 * @throws Refusal as `addMember`
 */
export function endConnection(of: Before & Signer): string {
  return nextEntry(of, { op: 'end' })
}

function nextEntry(of: Before & Signer, { k, ...what }: What): string {
  const { roster, keyLogs } = of
  const { connection, entries, head } = roster
  const seq = roster.seq + 1
  const opens = FORMS[what.op].opensEpoch
  const epoch = roster.epoch + (opens ? 1 : 0)
  const rows = opens ? coveringPlaces(roster, keyLogs, [of.actor, what.member]) : []
  const logs = rows.map(({ account, ...at }) => ({ account, ...onWire(at) }))
  const next = { connection, seq, epoch, prev: encodeBase64url(head), ...what }
  const jws = signEntry({ ...next, ...(logs.length === 0 ? {} : { logs }) }, k, of)
  verifyRoster(connection, [...entries, jws], keyLogs, roster)
  return jws
}

type Head = Omit<Payload, 'v' | 'k_commit' | 'actor' | 'device' | 'actor_log' | 'at'>

function signEntry(head: Head, k: Uint8Array | undefined, by: Signer): string {
  const { actor, device, actorLog, at } = by
  const entry: Payload = {
    v: 2,
    ...head,
    ...(k === undefined ? {} : { k_commit: keyCommitment(head.connection, head.epoch, k) }),
    actor,
    device,
    actor_log: onWire(actorLog),
    at,
  }
  return signJws('roster+jws', by.kid, entry, by.seed)
}

const onWire = ({ seq, head }: Place) => ({ seq, head: encodeBase64url(head) })

/** One history of a connection in an account server in memory. */
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'

/** An invitation; `consent` is the JWS that allows adding the account. */
export interface Invited {
  readonly id: string
  readonly inviter: string
  consent: string | null
  isTaken: boolean
}

/** One history of a connection. */
export interface Branch {
  readonly entries: string[]
  readonly roles: Map<string, 'owner' | 'member'>
  /** By account. */
  readonly invited: Map<string, Invited>
  /** By device: the envelope of the current epoch. */
  envelopes: Map<string, string>
  epoch: number
}

/** Returns the members of a signed structure, unverified. */
export const payloadOf = (jws: string) =>
  JSON.parse(Buffer.from(jws.split('.')[1] as string, 'base64url').toString()) as {
    op: string
    prev: string
    epoch: number
    actor: string
    member?: string
    role?: 'owner' | 'member'
    k_commit?: string
    device: string
    replaces?: string
    consent?: string
  }

/** Returns the hash of an entry, base64url. */
export const hashed = (jws: string): string => encodeBase64url(entryHash(jws))

/** Applies an entry to a branch without checking it. */
export function apply(branch: Branch, entry: string): void {
  const { op, member = '', role = 'member', actor, k_commit, epoch } = payloadOf(entry)
  if (op === 'add') branch.roles.set(member, role)
  const invited = branch.invited.get(member)
  if (op === 'add' && invited !== undefined) invited.isTaken = true
  if (op === 'role') branch.roles.set(member, role)
  if (op === 'remove') branch.roles.delete(member)
  if (op === 'leave') {
    branch.roles.delete(actor)
    branch.invited.delete(actor)
  }
  if (k_commit !== undefined) branch.envelopes = new Map()
  branch.epoch = epoch
  branch.entries.push(entry)
}

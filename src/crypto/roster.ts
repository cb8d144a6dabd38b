/**
 * The roster of a connection (section 4): who is in it, and which entry opened its epoch. Verified
 * against the verified key logs of its members. An op is a row of `OPS`: the members that it uses
 * and what it does; so far a connection can be opened.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { encodeBase64url } from './base64url.ts'
import { follow, NO_PREV, type Known } from './chain.ts'
import { u32be } from './code.ts'
import { parseId, PREFIX } from './id.ts'
import { parseJws, signJws, type ParsedJws } from './jws.ts'
import { signerAt, verifySignedBy, type Device, type KeyLog } from './key-log.ts'
import { base64url, epochNumber, exactly, id, natural, oneOf, payload, place } from './payload.ts'
import { demand } from './refusal.ts'

export type Role = 'owner' | 'member'

export type Member = {
  account: string
  role: Role
  /** The place in the member's key log that its next `actor_log` may not go below. */
  logSeq: number
  /** The generation of its log that an owner confirmed; later ones sign nothing. */
  generation: number
}

export type Roster = {
  connection: string
  /** The last entry and its hash, 32 bytes. */
  seq: number
  head: Uint8Array
  epoch: number
  /** The hash of the entry that opened the current epoch, 32 bytes. */
  epochHead: Uint8Array
  /** base64url, see `commitment`. */
  kCommit: string
  /** In order of joining. */
  members: readonly Member[]
  /** While true nothing of the connection verifies. */
  rotationPending: boolean
  /** As received. */
  entries: readonly string[]
}

/** The verified key logs of the accounts in a roster, by account id. */
export type KeyLogs = ReadonlyMap<string, KeyLog>

const OPTIONAL = {
  member: id(PREFIX.account),
  member_log: place,
  role: oneOf(['owner', 'member']),
  k_commit: base64url(32),
}
const readEntry = payload(
  {
    connection: id(PREFIX.connection),
    seq: natural,
    epoch: epochNumber,
    prev: base64url(32),
    op: oneOf(['open'], 'bad_op'),
    actor: id(PREFIX.account),
    device: id(PREFIX.device),
    actor_log: place,
    at: natural,
  },
  OPTIONAL,
)
type Payload = ReturnType<typeof readEntry>
type Entry = Payload & { jws: ParsedJws }
type State = Pick<Roster, 'epoch' | 'epochHead' | 'kCommit' | 'members' | 'rotationPending'>
type Op = {
  uses: readonly (keyof typeof OPTIONAL)[]
  opensEpoch: boolean
  apply: (before: State | undefined, entry: Entry, signer: Device, hash: Uint8Array) => State
}

const OPS: Record<Payload['op'], Op> = {
  open: {
    uses: ['k_commit'],
    opensEpoch: true,
    apply: (before, entry, signer, hash) => {
      demand(before === undefined, 'bad_op', 'a roster opens once')
      const { actor: account, actor_log: log, epoch, k_commit: kCommit } = entry
      const creator: Member = {
        account,
        role: 'owner',
        logSeq: log.seq,
        generation: signer.generation,
      }
      return {
        epoch,
        epochHead: hash,
        kCommit: kCommit!,
        members: [creator],
        rotationPending: false,
      }
    },
  },
}

/**
 * `k_commit` of one epoch: base64url SHA-256(`countersign/v1/k` || 0x00 || connection ||
 * u32be(epoch) || K). Takes the connection's id as text and K as 32 bytes; throws `bad_length`.
 */
export function commitment(connection: string, epoch: number, k: Uint8Array): string {
  demand(k.length === 32, 'bad_length', 'K is 32 bytes')
  const label = utf8ToBytes('countersign/v1/k')
  const subject = parseId(PREFIX.connection, connection)
  return encodeBase64url(sha256(concatBytes(label, Uint8Array.of(0), subject, u32be(epoch), k)))
}

/**
 * The entry that makes a connection, signed by a device of its creator. `actorLog` is the newest
 * place of the creator's key log (a `KeyLog` will do), `k` K of epoch 1 (32 bytes), `at` Unix
 * seconds, `kid` and `seed` the device's signing key. Out: the JWS. Throws what its reader throws.
 */
export function openEntry(of: {
  connection: string
  actor: string
  device: string
  actorLog: { seq: number; head: Uint8Array }
  k: Uint8Array
  at: number
  kid: string
  seed: Uint8Array
}): string {
  const entry: Payload = {
    v: 1,
    connection: of.connection,
    seq: 0,
    epoch: 1,
    prev: NO_PREV,
    op: 'open',
    k_commit: commitment(of.connection, 1, of.k),
    actor: of.actor,
    device: of.device,
    actor_log: { seq: of.actorLog.seq, head: encodeBase64url(of.actorLog.head) },
    at: of.at,
  }
  const jws = signJws('roster+jws', of.kid, entry, of.seed)
  readEntry(parseJws(jws, 'roster+jws').payload)
  return jws
}

/**
 * Verifies the whole roster of `connection`. `entries` are the JWSs in order, `keyLogs` the
 * verified logs of everybody who signed one, `known` the highest place this device has seen.
 * Throws the first rule broken: those of `parseJws`, of the payload, of the chain
 * (`roster_forked`, `gap`, `rollback` …), `wrong_connection`, `bad_op`, `missing_k_commit`,
 * `epoch_skip`, `actor_log_mismatch`, `unknown_signer`, `revoked_signer`, `kid_mismatch`,
 * `bad_signature`.
 */
export function verifyRoster(
  connection: string,
  entries: readonly string[],
  keyLogs: KeyLogs,
  known?: Known,
): Roster {
  const read = (text: string): Entry => {
    const jws = parseJws(text, 'roster+jws')
    const entry = readEntry(jws.payload)
    const { uses, opensEpoch } = OPS[entry.op]
    const commits = entry.k_commit !== undefined || !opensEpoch
    demand(commits, 'missing_k_commit', 'an entry that opens an epoch commits to its K')
    exactly(entry, Object.keys(OPTIONAL), uses)
    demand(entry.connection === connection, 'wrong_connection', 'an entry of another connection')
    return { ...entry, jws }
  }
  const apply = (before: State | undefined, entry: Entry, hash: Uint8Array): State => {
    const { opensEpoch, apply: effect } = OPS[entry.op]
    const epoch = (before?.epoch ?? 0) + (opensEpoch ? 1 : 0)
    demand(entry.epoch === epoch, 'epoch_skip', `the epoch of this entry is ${epoch}`)
    return effect(before, entry, signerOf(entry, keyLogs), hash)
  }
  const { state, heads } = follow<Entry, State>(
    entries,
    { read, apply, forked: 'roster_forked' },
    known,
  )
  return { connection, seq: heads.length - 1, head: heads.at(-1)!, ...state, entries }
}

/** The device that signed an entry, unrevoked at the place of its log that the entry names. */
function signerOf(entry: Entry, keyLogs: KeyLogs): Device {
  const log = keyLogs.get(entry.actor)
  const { seq, head } = entry.actor_log
  const named = log?.heads[seq]
  const same = named !== undefined && encodeBase64url(named) === head
  demand(log !== undefined && same, 'actor_log_mismatch', 'actor_log is no place of that key log')
  const signer = signerAt(log, entry.device, seq)
  verifySignedBy(signer, entry.jws)
  return signer
}

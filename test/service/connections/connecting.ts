/** People who connect: what their daemons sign and seal for a connection, in few lines. */
import { decodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { signConsent } from '../../../src/crypto/logs/consent.ts'
import type { LoggedDevice } from '../../../src/crypto/logs/key-log-ops.ts'
import type { KeyLog } from '../../../src/crypto/logs/key-log.ts'
import {
  accountsInRoster,
  addMember,
  changeRole,
  confirmMember,
  endConnection,
  leave,
  recipientsOf,
  removeMember,
  rotate,
  verifyRoster,
  type RosterRole,
  type Roster,
  type Signer,
} from '../../../src/crypto/logs/roster.ts'
import { sealKeyNamed } from '../../crypto/keys.ts'
import {
  allOf,
  connect,
  enrol,
  envelopeTo,
  logOf,
  makerOf,
  type Person,
  type Server,
} from '../person.ts'

const AT = 1_767_225_600

/** A device of a person, with its session. */
export type Actor = Pick<Person, 'id' | 'account' | 'device' | 'keys' | 'kid'>

/** A verified view of a connection by one device. */
export interface Known {
  readonly roster: Roster
  readonly keyLogs: ReadonlyMap<string, KeyLog>
}

/** The change that a person signs next. */
export type Change =
  | { op: 'add'; member: string; role?: RosterRole }
  | { op: 'remove'; member: string }
  | { op: 'confirm'; member: string }
  | { op: 'role'; member: string; role: RosterRole }
  | { op: 'leave' }
  | { op: 'rotate' }
  | { op: 'end' }

/**
 * Returns the secret of an epoch, the same for all connections here; `opening` seals that of
 * epoch 1.
 */
export const secretOf = (epoch: number) => new Uint8Array(32).fill(6 + epoch)

/**
 * Reads the roster of a connection and its key logs from the server, and verifies them.
 * @param more further accounts to read key logs of, beside those in the roster
 */
export async function knownBy(
  { account }: Pick<Person, 'account'>,
  connection: string,
  more: readonly string[] = [],
): Promise<Known> {
  const entries = await allOf((from) => account.rosters.read({ connection, from }))
  const keyLogs = new Map()
  for (const id of new Set([...accountsInRoster(entries), ...more]))
    keyLogs.set(id, await logOf({ id, account }))
  return { roster: verifyRoster(connection, entries, keyLogs), keyLogs }
}

export async function signerOf(actor: Actor): Promise<Signer> {
  const { seq, head } = await logOf(actor)
  const { id, device, kid, keys } = actor
  const seed = keys.sign.secret
  return { actor: id, device, actorLog: { seq, head }, kid, seed, at: AT }
}

/** Returns the entry that makes a change after the known roster. */
export async function entryBy(actor: Actor, known: Known, change: Change): Promise<string> {
  const of = { ...known, ...(await signerOf(actor)) }
  const k = secretOf(known.roster.epoch + 1)
  switch (change.op) {
    case 'add': {
      const { member, role = 'member' } = change
      const { seq, head } = known.keyLogs.get(member)!
      const { connection, head: rosterHead } = known.roster
      const keyLog = { seq, head }
      const consent = consentFor({ connection, inviter: actor.id, rosterHead }, member, keyLog)
      return addMember({ ...of, member, memberLog: { seq, head }, role, consent })
    }
    case 'remove':
      return removeMember({ ...of, member: change.member, k })
    case 'confirm': {
      const { seq, head } = known.keyLogs.get(change.member)!
      return confirmMember({ ...of, member: change.member, memberLog: { seq, head }, k })
    }
    case 'role':
      return changeRole({ ...of, member: change.member, role: change.role })
    case 'leave':
      return leave(of)
    case 'rotate':
      return rotate({ ...of, k })
    case 'end':
      return endConnection(of)
  }
}

/** Returns the known roster and key logs after an entry. */
export const after = ({ roster, keyLogs }: Known, entry: string): Known => ({
  roster: verifyRoster(roster.connection, [...roster.entries, entry], keyLogs),
  keyLogs,
})

/**
 * Seals the secret of the roster’s epoch to one device. `other` replaces values as a hostile
 * device would.
 */
export const envelopeFor = (
  { connection, epoch, epochHead }: Roster,
  { id: recipient, seal }: Pick<LoggedDevice, 'id' | 'seal'>,
  other: Partial<Parameters<typeof envelopeTo>[0]> = {},
) => {
  const of = { connection, epoch, epochHead, k: secretOf(epoch), recipient }
  return envelopeTo({ ...of, seal: { publicKey: sealKeyNamed(seal) }, ...other })
}

/**
 * Seals the secret of the current epoch to every device that may have it, or to those of one
 * account.
 */
export const envelopesFor = ({ roster, keyLogs }: Known, account?: string) =>
  Promise.all(
    recipientsOf(roster, keyLogs)
      .filter((one) => account === undefined || one.account === account)
      .map(({ device }) => envelopeFor(roster, device)),
  )

/** Returns the request with which a device makes a change. */
export async function changeBy(actor: Actor, connection: string, change: Change) {
  const known = await knownBy(actor, connection, change.op === 'add' ? [change.member] : [])
  const entry = await entryBy(actor, known, change)
  const next = after(known, entry)
  const opens = ['remove', 'rotate', 'confirm'].includes(change.op)
  const envelopes = opens
    ? await envelopesFor(next)
    : change.op === 'add'
      ? await envelopesFor(next, change.member)
      : []
  return { connection, body: { entry, envelopes }, known, next }
}

/** Makes a change. */
export async function make(actor: Actor, connection: string, change: Change) {
  const { body } = await changeBy(actor, connection, change)
  return actor.account.rosters.append({ connection, body })
}

/** Returns the consent of an account, signed by the newest device that was made for it. */
function consentFor(
  to: { connection: string; inviter: string; rosterHead: Uint8Array },
  account: string,
  keyLog: { seq: number; head: Uint8Array },
): string {
  const { device, kid, keys } = makerOf(account)
  return signConsent({ ...to, account, device, keyLog, at: AT, kid, seed: keys.sign.secret })
}

/**
 * Returns the consent that a device signs for an invitation; `other` replaces values of the
 * server.
 */
export async function consentBy(
  { account, id, device, kid, keys }: Actor,
  invitation: string,
  other: { connection?: string; inviter?: string; rosterHead?: Uint8Array } = {},
): Promise<string> {
  const wanted = await account.consents.wanted({ invitation })
  return signConsent({
    connection: wanted.connection,
    inviter: wanted.inviter,
    account: id,
    device,
    keyLog: await logOf({ id, account }),
    rosterHead: decodeBase64url(wanted.roster_head),
    at: AT,
    kid,
    seed: keys.sign.secret,
    ...other,
  })
}

/** Approves an invitation. */
export async function approveInvitation(actor: Actor, { id: invitation }: { id: string }) {
  const consent = await consentBy(actor, invitation)
  return actor.account.consents.give({ body: { invitation, consent } })
}

/** Invites an account and has it approve. */
export async function approved(by: Person, connection: string, person: Person) {
  const { id } = await by.account.members.add({ id: connection, body: { user_id: person.id } })
  return approveInvitation(person, { id })
}

/** Invites an account, has it approve, and adds it. */
export async function joinMember(
  by: Person,
  connection: string,
  person: Person,
  role?: RosterRole,
) {
  await approved(by, connection, person)
  const member = person.id
  return make(
    by,
    connection,
    role === undefined ? { op: 'add', member } : { op: 'add', member, role },
  )
}

/** Opens a connection and adds all people. The first is its owner, who named it "Club". */
export async function connected(server: Server, names: readonly string[]) {
  const people: Person[] = []
  for (const name of names) people.push(await enrol(server, name))
  const [owner, ...others] = people as [Person, ...Person[]]
  const { id } = await connect(owner, 'Club')
  for (const other of others) await joinMember(owner, id, other)
  return { id, people: people as [Person, Person, Person, Person] }
}

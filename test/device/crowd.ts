/**
 * A connection of 200 members at an account server in this process. Three of them have whole
 * devices. Of the others there are the account, the keys and the session: they decide and sign by
 * the functions of the program, over one verified roster that all have read.
 */
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { DeviceKeyPairs } from '../../src/crypto/device-keys.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { openEnvelope, sealEnvelope } from '../../src/crypto/envelope.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { type KeyLog, verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { type Roster, rotate, rotationDue } from '../../src/crypto/logs/roster.ts'
import { rotateIfDue } from '../../src/device/connections/members.ts'
import { type KnownRoster, rememberedRoster } from '../../src/device/logs/roster-cache.ts'
import { AT, consentTo, place, rosterEntry } from '../crypto/builders.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { enrolmentOf, newMaker } from '../service/person.ts'
import { gate } from './enrolled.ts'
import { type DeviceUser, type World, newWorld } from '../world/world.ts'

export const MEMBERS = 200

/** A member by the device that signs for it. */
export interface Member {
  readonly account: string
  /** The key log when the member joined. */
  readonly log: KeyLog
  readonly device: { readonly id: string; readonly kid: string; readonly keys: DeviceKeyPairs }
  readonly server: Account
}

/** The request that appends an entry to a roster, and its answer. */
export type Post = Parameters<Account['rosters']['append']>[0]
export type Place = Awaited<ReturnType<Account['rosters']['append']>>

/** Enrols an account without a whole device. */
async function newMember({ server }: World): Promise<Member> {
  const maker = newMaker()
  const { id: account, device: id, keys, kid, entry } = maker
  const request = enrolmentOf(maker, await server.newEnrolmentCode(account))
  const { session } = await server.door({ key: null }).enrolment.create(request)
  return {
    account,
    log: verifyKeyLog(account, [entry]),
    device: { id, kid, keys },
    server: server.as({ account, device: id, session: session.session_id, token: null }),
  }
}

async function memberOf(user: DeviceUser): Promise<Member> {
  const { identity } = user.device()
  const keys = await identity.keys()
  return {
    account: user.id,
    log: await identity.keyLog(),
    device: { id: user.deviceId, kid: identity.kid, keys },
    server: user.account(),
  }
}

/** Inserts memberships, and the entries by which the owner, the first member, adds the others. */
function addAll(file: string, connection: string, first: string, all: readonly Member[]): void {
  const [owner, ...others] = all
  const database = new DatabaseSync(file)
  const addEntry = database.prepare('insert into roster_entries values (?, ?, ?)')
  const addMembership = database.prepare(
    `insert into memberships (account_id, connection_id, role, name, favorite, updated_at)
     select ?, connection_id, 'member', name, 0, updated_at from memberships
     where connection_id = ? and role = 'owner'`,
  )
  database.exec('begin immediate')
  let head = entryHash(first)
  for (const [seq, { account, log, device }] of others.entries()) {
    const roster = { connection, seq, head, epoch: 1 }
    const consent = consentTo(roster, owner!, { account, log }, device)
    const member = { member: account, member_log: place({ account, log }), role: 'member', consent }
    const entry = rosterEntry(roster, owner!, owner!.device, { op: 'add', ...member })
    addEntry.run(connection, seq + 1, entry)
    addMembership.run(account, connection)
    head = entryHash(entry)
  }
  database.exec('update memberships set updated_at = updated_at + 1')
  database.exec('commit')
  database.close()
}

/**
 * Returns a connection of 200 members in the order of joining, of whom Ada is the first and Bob
 * the second. A phone of Bob has revoked itself; `read` is what members have read since.
 */
export async function newCrowd(t: TestContext) {
  const file = join(freshFolder(t), 'account.db')
  const world = await newWorld(t, { file })
  const [ada, bob, cy] = [
    await world.person('ada'),
    await world.person('bob'),
    await world.person('cy'),
  ]
  const phone = await world.further(bob, 'phone')
  const whole = [ada, bob, cy]
  const all = await Promise.all(whole.map(memberOf))
  while (all.length < MEMBERS) all.push(await newMember(world))
  const id = await ada.connect()
  const { entries } = await ada.account().rosters.read({ connection: id })
  addAll(file, id, entries[0]!, all)
  for (const user of whole) await user.sync()
  await phone.flow.end({ last_device: false, forget: false })
  await cy.sync()
  return { world, ada, bob, cy, all, id, read: rememberedRoster(cy.state, id)! }
}

/**
 * Returns the rotation that a member posts by what it has read, or null where none is due. It is
 * sealed to the member's own device alone.
 */
export async function rotationOf(
  { account, device }: Member,
  { roster, keyLogs }: KnownRoster,
): Promise<Post | null> {
  if (rotationDue(roster, keyLogs, account) === null) return null
  const { connection } = roster
  const { id, kid, keys } = device
  const actorLog = keyLogs.get(account)!
  const signer = { actor: account, device: id, actorLog, kid, seed: keys.sign.secret, at: AT }
  const k = new Uint8Array(randomBytes(32))
  const entry = rotate({ roster, keyLogs, k, ...signer })
  const epoch = { connection, epoch: roster.epoch + 1, epochHead: entryHash(entry) }
  const { publicKey } = keys.seal
  const to = { recipient: id, kid: sealKeyId(publicKey), publicKey }
  return { connection, body: { entry, envelopes: [await sealEnvelope(epoch, k, to)] } }
}

/** Returns the secret that the account server has for a member in the epoch of a roster. */
export async function secretOf({ device, server }: Member, roster: Roster): Promise<Uint8Array> {
  const { envelopes } = await server.envelopes.read({ connection: roster.connection })
  const { secret, publicKey } = device.keys.seal
  const keys = new Map([[sealKeyId(publicKey), secret]])
  return openEnvelope(envelopes.at(-1)!, roster, device.id, keys)
}

/**
 * Returns the function that posts to the account server under an Idempotency-Key, as remote devices
 * do. Repetitions have the same key.
 */
export function postingBy(
  { server }: World,
  caller: string,
  append: (post: Post) => Promise<Place>,
): (post: Post) => Promise<Place> {
  const key = randomBytes(16).toString('hex')
  return (post) => {
    const fingerprint = createHash('sha256').update(JSON.stringify(post)).digest('hex')
    return server.once({ caller, key, fingerprint }, () => append(post))
  }
}

/**
 * Has a whole device rotate as its sync does once its wait is over. Resolves when it posts.
 * @param send replaces its requests to append
 * @returns `sealed`: resolves at the end, to the number of devices that it sealed to
 */
export async function rotating(
  user: DeviceUser,
  connection: string,
  send: (post: Post) => Promise<Place>,
): Promise<{ sealed: Promise<number> }> {
  const posting = gate()
  const racing = user.restart((honest) => ({
    ...honest,
    rosters: {
      ...honest.rosters,
      append: (post) => {
        posting.resolve()
        return send(post)
      },
    },
  }))
  const waits = { isOver: () => true }
  const sealed = rotateIfDue(racing.device(), racing.account(), connection, waits)
  await Promise.race([posting.promise, sealed])
  return { sealed }
}

/**
 * The world of the tests: people with devices over one account server in this process, the real
 * one. Each device has its own state and keychain; all share one clock. A test that needs a failing
 * or dishonest server puts an interceptor between a device and the server.
 */
import { signConsent } from '../../src/crypto/logs/consent.ts'
import type { KeyPair } from '../../src/crypto/device-keys.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { vouchFor } from '../../src/crypto/logs/key-log-entries.ts'
import { newRecoverySeed, recoveryKeyOf } from '../../src/crypto/recovery-paper.ts'
import { giveConsent } from '../../src/device/connections/consents.ts'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { Invitee } from '../../src/api/rest/connections.ts'
import type { Invitation } from '../../src/api/rest/invitations.ts'
import type { SyncReport } from '../../src/api/rest/sync.ts'
import type { Verification } from '../../src/api/rest/verify.ts'
import { openConnection } from '../../src/device/connections/connections.ts'
import { type LocalDevice } from '../../src/device/device.ts'
import { inviteMembers } from '../../src/device/connections/invites.ts'
import { putRecoveryKey, readRecoveryKey } from '../../src/device/trust/recovery-key.ts'
import { rememberedRoster } from '../../src/device/logs/roster-cache.ts'
import { revoke } from '../../src/device/session/sign-out.ts'
import { type DeviceSession } from '../../src/device/session/session.ts'
import { newSignIn } from '../../src/device/session/sign-in.ts'
import type { SignInFlow } from '../../src/device/session/sign-in-flow.ts'
import type { Keychain } from '../../src/keychain/backend.ts'
import { renewing } from '../../src/device/session/session.ts'
import { type Identity, readSession } from '../../src/device/identity/identity.ts'
import type { openService } from '../../src/service/service.ts'
import { openState, type State } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { memoryKeychain } from '../keychain/memory.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { enrol } from '../service/person.ts'
import { openSubject, PUBLIC_URL } from '../service/subject.ts'
import { approved } from './approving.ts'
import { MINUTE, T0 } from '../device/bench.ts'
import { openEngine } from '../../src/service/db/database.ts'
import { type Between, both, instead } from './interceptor.ts'
import { startDevice } from './start.ts'

/** The storage of a device. */
interface Parts {
  readonly state: State
  readonly keychain: Keychain
}

export type World = Awaited<ReturnType<typeof newWorld>>

/** A person at one of their devices. */
export interface DeviceUser {
  readonly name: string
  readonly state: State
  readonly keychain: Keychain
  readonly deviceSession: DeviceSession
  readonly flow: SignInFlow
  readonly logged: readonly { readonly event: string; readonly cause: unknown }[]
  /** The ids of the account and the device. */
  readonly id: string
  readonly deviceId: string
  account(): Account
  device(): LocalDevice
  /** Runs a sync, which must succeed. */
  sync(): Promise<SyncReport>
  /** Makes a connection; returns its id. */
  connect(name?: string): Promise<string>
  invite(connection: string, whom: Invitee): Promise<Invitation>
  /** Approves the newest waiting invitation. */
  approve(): Promise<Invitation>
  revoke(device: string): Promise<void>
  /** Returns the own current words of a connection; null if there are none to show. */
  words(connection: string): string | null
  hears(words: string | null): Promise<Verification>
  /** Returns the same device after a restart, optionally with another account or other parts. */
  restart(between?: Between, parts?: Partial<Parts>): DeviceUser
}

/**
 * An account server without accounts.
 * @param more settings of a test
 * @param url a migrated database in PostgreSQL; null for SQLite
 */
export async function newWorld(
  t: TestContext,
  more: Partial<Parameters<typeof openService>[0]> = {},
  url: string | null = null,
) {
  const file = join(freshFolder(t), 'account.db')
  if (url === null) copyFileSync(await empty(), file)
  const clock = { ms: T0 }
  const subject = await openSubject({ url, file }, clock, more)
  t.after(() => subject.close())
  const { service: server, mailDir: mail } = subject
  const door = subject.server.door()

  /** Returns the codes that were mailed to an address, oldest first. */
  const codes = async (email: string) => (await lettersIn(mail, email)).filter(hasCode).map(codeIn)
  const code = async (email: string) => (await codes(email)).at(-1) ?? assert.fail('no mail')

  const accountOf = (identity: Identity, keychain: Keychain, again: () => Promise<unknown>) => {
    const account = subject.deviceAccount({
      key: async () => (await identity.keys()).auth,
      refreshToken: () => readSession(keychain),
    })
    return identity.machine === null ? account : renewing(account, again)
  }

  function userOver(of: {
    name: string
    state: State
    keychain: Keychain
    between: Between
    /** Every start of this device. */
    starts: DeviceSession[]
  }) {
    const { name, state, keychain, between, starts } = of
    const now = () => clock.ms
    const { deviceSession, logged, log } = startDevice({
      state,
      keychain,
      accountOf: ({ account, device, session }) =>
        between(server.as({ account, device, session, token: null })),
      clock: door.clock,
      now,
      environment: 'test',
    })
    starts.push(deviceSession)
    const flow = newSignIn({
      state,
      keychain,
      deviceSession,
      door,
      server: PUBLIC_URL,
      now,
      log,
      names: { display_name: name, device_name: `${name}'s`, platform: 'linux' },
    })
    const account = () => deviceSession.account()
    const device = (): LocalDevice =>
      deviceSession.device() ?? assert.fail(`${name} has no device that may act`)
    return {
      name,
      state,
      keychain,
      deviceSession,
      flow,
      logged,
      account,
      device,
      get id(): string {
        return deviceSession.identity()?.account ?? assert.fail(`${name} is nobody`)
      },
      get deviceId(): string {
        return deviceSession.identity()?.device ?? assert.fail(`${name} is nobody`)
      },
      async sync(): Promise<SyncReport> {
        const report = await device().sync.run('request')
        assert.equal(report.error, null)
        return report
      },
      connect: async (connection = 'Bank') =>
        (
          await openConnection(
            device(),
            account(),
            { name: connection, invite: [] },
            { id: randomBytes(16), at: clock.ms },
          )
        ).id,
      invite: (connection: string, whom: Invitee) =>
        inviteMembers(device(), account(), connection, whom),
      async approve() {
        const { received } = await account().invitations.pending({})
        const id = received[0]?.id ?? assert.fail(`nobody invited ${name}`)
        return giveConsent(device(), account(), id)
      },
      revoke: (id: string) => revoke(device(), account(), id),
      words: (connection: string): string | null =>
        device().codes.toSay(connection, clock.ms)?.words ?? null,
      hears: async (words: string | null): Promise<Verification> =>
        device().verifier.verify(words ?? assert.fail('nobody said anything'), null),
      restart(other: Between = between, parts: Partial<Parts> = {}) {
        void deviceSession.device()?.firstContacts.close()
        return userOver({ ...of, between: other, ...parts })
      },
    }
  }

  function newUser(name: string) {
    const state = openState(freshFolder(t), undefined, () => clock.ms)
    const starts: DeviceSession[] = []
    t.after(async () => {
      for (const deviceSession of starts) await deviceSession.device()?.firstContacts.close()
      state.close()
    })
    const between: Between = (account) => account
    return userOver({ name, state, keychain: memoryKeychain(), between, starts })
  }

  async function codeFor(user: DeviceUser, email: string): Promise<string> {
    await user.flow.begin(email)
    return code(email)
  }

  async function signIn(user: DeviceUser, email: string) {
    await user.flow.code({ code: await codeFor(user, email), reset: false })
    return user
  }

  /** Resets as the command line does: the daemon plans, the paper signs. */
  async function resetBy(
    user: DeviceUser,
    email: string,
    paper: KeyPair | null,
    meanwhile: () => Promise<unknown>,
  ) {
    const code = await codeFor(user, email)
    const recovery_key = paper?.jwk.x ?? null
    const { unsigned } = await user.flow.planReset({ by: { code }, recovery_key })
    const entry = { op: 'reset', ...(unsigned ?? assert.fail('nothing to sign')) } as const
    const vouched = paper === null ? {} : { recovery_sig: vouchFor(entry, paper) }
    await meanwhile()
    await user.flow.code({ code, reset: true, ...vouched })
    return user
  }

  return {
    clock,
    server,
    /** The database of the account server, and the folder of its mails. */
    file,
    mail,
    origin: more.publicUrl?.() ?? PUBLIC_URL,
    now: () => clock.ms,
    door,
    accountOf,
    codes,
    code,
    ...whatIsStored(t, file),
    /** Returns the key file of a new machine account. */
    async machine() {
      const { auth } = newDeviceKeys()
      const owner = await enrol(subject.server)
      const { id } = await owner.account.organisations.create({ body: { name: 'Acme' } })
      const body = { organisation_id: id, name: 'bot', key: auth.jwk }
      const { machine_id: machine, token_endpoint } = await owner.account.machines.create({ body })
      const key = { ...auth.jwk, d: encodeBase64url(auth.secret) }
      return { ...key, machine, token_endpoint }
    },
    /** Advances the time. The words of a minute are accepted only once. */
    later: (minutes = 1) => {
      clock.ms += minutes * MINUTE
    },
    /** Signs in a new person with the mailbox `<name>@example.org`. */
    person: (name: string) => signIn(newUser(name), `${name}@example.org`),
    /**
     * Resets an account to a new device, by its mailbox and by the recovery key if there is one.
     * All other devices are lost.
     * @param meanwhile runs between the plan and the reset
     */
    reset: (
      name: string,
      paper: KeyPair | null = null,
      meanwhile: () => Promise<unknown> = () => Promise.resolve(),
    ) => resetBy(newUser(name), `${name}@example.org`, paper, meanwhile),
    /** Starts another session of a signed-in device, with a code from its mailbox. */
    again: (user: DeviceUser, { name }: Pick<DeviceUser, 'name'> = user) =>
      signIn(user, `${name}@example.org`),
    /** Signs in on a further device of a person, without approval. */
    waiting: (user: DeviceUser, name: string) => signIn(newUser(name), `${user.name}@example.org`),
    /**
     * Signs in on a further device of a person and approves it; the words of both screens are
     * compared.
     */
    async further(user: DeviceUser, name: string) {
      const newcomer = await signIn(newUser(name), `${user.name}@example.org`)
      const approver = await user.device().approver()
      await approved({ approver, account: user.account() }, newcomer.flow)
      return newcomer
    },
  }
}

let made: Promise<string> | null = null

/** Returns the database of an account server without accounts; it is made once in a process. */
const empty = () =>
  (made ??= (async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'countersign-empty-')), 'account.db')
    await (await openEngine({ url: null, file })).close()
    return file
  })())

/** Reads the database of an account server, beside it. */
function whatIsStored(t: TestContext, file: string) {
  let opened: DatabaseSync | null = null
  t.after(() => opened?.close())
  const rows = <T>(sql: string, ...values: string[]) =>
    (opened ??= new DatabaseSync(file, { readOnly: true })).prepare(sql).all(...values) as T[]
  const entries = (account: string) =>
    rows<{ entry: string }>(
      'select entry from key_log_entries where account_id = ? order by seq',
      account,
    ).map(({ entry }) => entry)
  return {
    /** Returns the ids of the accounts, in order of creation. */
    accounts: () =>
      rows<{ id: string }>('select id from accounts order by rowid').map(({ id }) => id),
    /** Returns the devices, also revoked ones, in order of creation. */
    devices: (account = '%') =>
      rows<{ id: string; name: string; approved_at: number | null }>(
        'select id, name, approved_at from devices where account_id like ? order by rowid',
        account,
      ),
    entries,
    /** Returns the key log of an account. */
    logOf: (account: string) => verifyKeyLog(account, entries(account)),
  }
}

/** Replaces the recovery key of an account, or sets the first one. */
export async function newPaper(user: DeviceUser, old: KeyPair | null = null): Promise<KeyPair> {
  const paper = recoveryKeyOf(newRecoverySeed())
  const { next } = await readRecoveryKey(user.device(), user.account())
  const entry = { op: 'recovery', ...next, key: paper.jwk } as const
  const vouched = old === null ? {} : { recovery_sig: vouchFor(entry, old) }
  await putRecoveryKey(user.device(), user.account(), { key: paper.jwk, seq: next.seq, ...vouched })
  return paper
}

/** Returns an account server with these people. */
export async function worldOf<Name extends string>(t: TestContext, ...names: readonly Name[]) {
  const world = await newWorld(t)
  const users = {} as Record<Name, DeviceUser>
  for (const name of names) users[name] = await world.person(name)
  return { world, ...users }
}

/** Connects two people: A made the connection, B approved the invitation, both have synced. */
export async function connected(a: DeviceUser, b: DeviceUser, name?: string): Promise<string> {
  const connection = await a.connect(name)
  await joinMembers(a, connection, [b])
  return connection
}

/** Adds more people to a connection of A. */
export async function joinMembers(
  a: DeviceUser,
  connection: string,
  others: readonly DeviceUser[],
): Promise<void> {
  for (const b of others) {
    await a.invite(connection, { user_id: b.id })
    await b.approve()
  }
  await a.sync()
  for (const b of others) await b.sync()
}

/** Returns Ada, who made a connection, with Bob and Cy in it. */
export async function three(t: TestContext) {
  const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
  const id = await ada.connect()
  await joinMembers(ada, id, [bob, cy])
  return { world, ada, bob, cy, id }
}

/** Returns whether the speaker’s current words verify at another device. */
export async function verifies(
  by: DeviceUser,
  speaker: DeviceUser,
  connection: string,
): Promise<boolean> {
  const words = speaker.words(connection)
  return words !== null && (await by.hears(words)).verified
}

/** Returns whether an account is in a connection, by the state of a device. */
export const isIn = ({ state }: DeviceUser, connection: string, { id }: DeviceUser): boolean =>
  rememberedRoster(state, connection)?.roster.members.some(({ account }) => account === id) ?? false

/**
 * Returns a person’s consent to be added by another, as an accomplice of the server would sign
 * it.
 */
export async function consentFor(
  person: DeviceUser,
  inviter: DeviceUser,
  connection: string,
  rosterHead?: Uint8Array,
): Promise<string> {
  const { entries } = await inviter.account().rosters.read({ connection })
  const { identity } = person.device()
  const { sign } = await identity.keys()
  return signConsent({
    connection,
    inviter: inviter.id,
    account: person.id,
    device: person.deviceId,
    keyLog: await identity.keyLog(),
    rosterHead: rosterHead ?? entryHash(entries.at(-1)!),
    at: 0,
    kid: identity.kid,
    seed: sign.secret,
  })
}

/**
 * An account server that returns no sent invitations and reports an approval by an account.
 * It acknowledges every entry and stores none.
 */
export const sayingApproved = (
  connection: string,
  { id }: DeviceUser,
  consent: string,
  email: string | null = null,
): Between =>
  both(
    instead('invitations', 'list', () => async () => ({ received: [], sent: [] })),
    instead('rosters', 'append', () => async () => ({ seq: 2, head: 'A'.repeat(43) })),
    instead('duties', 'read', () => async () => ({
      joins: [{ connection, account: id, email, consent }],
      unsealed: [],
    })),
  )

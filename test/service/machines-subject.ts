/** Organisations, machine accounts and their tokens over one database, for the suites. */
import type { Open, CallerSession } from '../../src/api/port.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { signAssertion } from '../../src/crypto/jose/client-assertion.ts'
import type { KeyPair } from '../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { AppError } from '../../src/errors.ts'
import { newBackground } from '../../src/service/db/background.ts'
import {
  authenticateMachine,
  bearer,
  machineTokens,
} from '../../src/service/devices/machine-tokens.ts'
import { machines } from '../../src/service/organisations/machines.ts'
import { oauth } from '../../src/service/devices/oauth.ts'
import { organisations } from '../../src/service/organisations/organisations.ts'
import type { Schema } from '../../src/service/db/schema.ts'
import { newSeenOnce } from '../../src/service/db/seen-once.ts'
import { openServiceDatabase } from './database.ts'
import { withEvents } from './events.ts'
import type { Place } from './subject.ts'
import type { Engine } from './engines.ts'

export const ISSUER = 'https://countersign.test'
export const ENDPOINT = `${ISSUER}/oauth/token`

export const BY_JWT = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** RFC 6749 section 5.2: the characters of an error_description. */
export const DESCRIPTION = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

export type Subject = Awaited<ReturnType<typeof openMachines>>

export type Form = Parameters<Open['oauth']['token']>[0]['body']
/** An account and the key that it should have. */
export interface Client {
  readonly account: string
  readonly key: KeyPair
}

/** Returns the session of an account, as its device has it. */
export const as = (account: string): CallerSession => ({
  account,
  device: newId('dev_', Date.now()),
  session: newId('ses_', Date.now()),
  token: null,
})

export const newKey = (): KeyPair => newDeviceKeys().auth

/** Returns the private key in the form that libraries accept. */
export const privateKey = ({ jwk, secret }: KeyPair) =>
  crypto.subtle.importKey('jwk', { ...jwk, d: encodeBase64url(secret) }, 'Ed25519', false, ['sign'])

/** Opens the modules under test; subjects with the same `clock` have the same time. */
export async function openMachines(place: Place, clock: { ms: number }) {
  const { db, close } = await openServiceDatabase(place)
  const now = () => clock.ms
  const background = newBackground(() => undefined)
  const seenOnce = newSeenOnce({ db, background, now })
  const mail = { isRelayed: false, send: async () => undefined }
  const ground = withEvents({ db, now, publicUrl: () => ISSUER, seenOnce, background, mail })
  const answers = {
    organisations: organisations(ground),
    machines: machines(ground),
    machineTokens: machineTokens(ground),
    bearer: bearer(ground),
    oauth: oauth(ground),
  }

  async function newPerson(): Promise<string> {
    const id = newId('acc_', clock.ms)
    await db.insertInto('accounts').values({ id, kind: 'person', display_name: 'Ada' }).execute()
    return id
  }

  /** Creates a person with an organisation. */
  async function newOwner() {
    const owner = await newPerson()
    const { id } = await answers.organisations.create({ body: { name: 'Acme' } }, as(owner))
    return { owner, organisation: id }
  }

  const seconds = () => Math.floor(clock.ms / 1000)
  const assertionOf = (
    { account, key }: Client,
    of: { audience?: string; at?: number; lifetimeS?: number } = {},
  ) => signAssertion({ machine: account, audience: ISSUER, at: seconds(), ...of }, key)

  return {
    ...answers,
    ground,
    seconds,
    assertionOf,
    clock,
    db,
    idle: () => background.idle(),
    close: async () => {
      await background.idle()
      await close()
    },
    newPerson,
    newOwner,
    authenticate: (token: string) => authenticateMachine(ground, token),

    /** Returns the form with which a machine requests a token; `of` replaces members. */
    form: async (client: Client, of: Partial<Record<keyof Form, string | undefined>> = {}) => ({
      grant_type: 'client_credentials',
      client_assertion_type: BY_JWT,
      client_assertion: await assertionOf(client),
      ...of,
    }),
    getToken: (body: Form) => answers.oauth.token({ body }, { key: null }),

    /** Adds a further person to an organisation. */
    async newMember(
      organisation: string,
      { role, state }: Pick<Schema['organisation_members'], 'role' | 'state'>,
    ): Promise<string> {
      const account = await newPerson()
      await db
        .insertInto('organisation_members')
        .values({
          organisation_id: organisation,
          account_id: account,
          role,
          state,
          joined_at: clock.ms,
          member_id: newId('mem_', Date.now()),
        })
        .execute()
      return account
    },

    /** Sets the state of a member, as an administrator does. */
    async setState(account: string, state: Schema['organisation_members']['state']) {
      await db
        .updateTable('organisation_members')
        .set({ state })
        .where('account_id', '=', account)
        .execute()
    },

    /** Creates a machine account in an organisation of its own. */
    async newMachine(name = 'Backup') {
      const { owner, organisation } = await newOwner()
      const key = newKey()
      const { machine_id: account } = await answers.machines.create(
        { body: { organisation_id: organisation, name, key: key.jwk } },
        as(owner),
      )
      return { owner, organisation, key, account }
    },

    /** Returns all rows of the database as text. */
    async everything(): Promise<string> {
      const tables = await db.introspection.getTables()
      const rows = tables.map(({ name }) =>
        db
          .selectFrom(name as keyof Schema)
          .selectAll()
          .execute(),
      )
      return JSON.stringify(await Promise.all(rows))
    },
  }
}

/**
 * Opens two servers over one new database with one clock, which starts at these Unix
 * milliseconds.
 */
export async function openTwo(engine: Engine, ms: number): Promise<[Subject, Subject]> {
  const [place, clock] = [await engine.newPlace(), { ms }]
  return [await openMachines(place, clock), await openMachines(place, clock)]
}

/**
 * Returns eight servers for simultaneous calls: both by turns, or `here` alone without replicas.
 */
export const atOnce = (engine: Engine, here: Subject, replica: Subject) =>
  Array.from({ length: 8 }, (_, i) => (engine.replicas && i % 2 === 1 ? replica : here))

/** Returns the error of a rejected call, as its caller sees it. */
export async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => new Error('It was not refused.'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof AppError)) throw error
  return { ...error.toJSON(), headers: error.headers }
}

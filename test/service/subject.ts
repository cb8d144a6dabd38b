/**
 * An account server in this process for the suites. Every call proves its key and passes the
 * scope table, as a request over the wire does.
 */
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entrance, signedIn } from '../../src/api/device/index.ts'
import type { Account, UnauthenticatedClient } from '../../src/api/port.ts'
import { rest } from '../../src/api/rest/index.ts'
import type { Route, Table } from '../../src/api/route.ts'
import { ACCOUNT_RULES, requireScope, scopeTable } from '../../src/auth/scopes.ts'
import type { Retention } from '../../src/config/retention.ts'
import type { KeyPair } from '../../src/crypto/device-keys.ts'
import type { signProof } from '../../src/crypto/jose/dpop.ts'
import { AppError, statusOf, toAppError } from '../../src/errors.ts'
import { newServerClock } from '../../src/remote/clock.ts'
import { type SessionCredentials, deviceSession } from '../../src/remote/credentials.ts'
import { openService, type AccountServer } from '../../src/service/service.ts'
import type { Subject } from '../account/subject.ts'
import { assertDeclared } from '../declared-errors.ts'
import { lettersIn } from './letters.ts'
import { bind } from '../../src/service/calls.ts'
import { type ByRow, mapRows } from '../../src/api/rows.ts'
import { proofBy } from './proof.ts'

/** The address of the database. */
export interface Place {
  readonly url: string | null
  readonly file: string
}

/** Deletes nothing, so that tests may advance the clock by years. */
export const KEEP_ALL: Retention = {
  verifications: null,
  activities: null,
  invitations: null,
  guestCodes: null,
  trustEvents: null,
  sessions: null,
}

export const PUBLIC_URL = 'https://countersign.test'

export interface LocalSubject extends Subject {
  readonly service: AccountServer
  readonly mailDir: string
  /** Returns the account of a device, which renews its session as a remote one does. */
  deviceAccount(session: SessionCredentials): Account
  /** Returns a valid proof for a request; `more` replaces values as a thief would. */
  proofOf(
    key: KeyPair,
    of: { method: string; path: string; token?: string },
    more?: Partial<Parameters<typeof signProof>[0]>,
  ): Promise<{ text: string; method: string; path: string }>
}

type Call = (input: Readonly<Record<string, unknown>>) => Promise<unknown>

/** Returns the rows of a table as calls; `answering` returns what answers one request. */
function through(
  table: Table,
  answering: (route: Route, path: string) => Promise<{ answers: object; caller: object }>,
): Record<string, unknown> {
  return mapRows<Route, Call>(table, (route, name, group) => async (input) => {
    const path = route.path.replace(/{(\w+)}/g, (_, param: string) =>
      encodeURIComponent(String(input[param])),
    )
    try {
      const { answers, caller } = await answering(route, path)
      const row = bind({ [group]: { [name]: route } }, answers, caller) as ByRow<Call>
      return await row[group]![name]!(input)
    } catch (error) {
      const needed = need(route.method, route.path.slice(1).split('/'))
      const failure = { table, route, need: needed, code: toAppError(error).code }
      assertDeclared(failure, 'account server')
      throw error
    }
  })
}

const need = scopeTable(ACCOUNT_RULES)

/**
 * @param clock shared by servers with the same time
 * @param more further settings of an operator
 */
export async function openSubject(
  place: Place,
  clock = { ms: Date.UTC(2026, 0, 1) },
  more: Partial<Parameters<typeof openService>[0]> = {},
): Promise<LocalSubject> {
  // The first mail creates it.
  const mailDir = join(tmpdir(), `countersign-mail-${randomUUID()}`)
  const { publicUrl = () => PUBLIC_URL } = more
  const service = await openService({
    ...place,
    publicUrl,
    version: '1.2.3',
    now: () => clock.ms,
    mail: { dir: mailDir },
    from: 'Countersign <countersign@countersign.test>',
    log: () => undefined,
    retention: KEEP_ALL,
    ...more,
  })

  const proofOf: LocalSubject['proofOf'] = async (key, { method, path, token }, more = {}) => {
    const request = {
      method,
      url: publicUrl() + path,
      at: Math.floor(clock.ms / 1000),
      nonce: await service.nonce(),
      ...(token === undefined ? {} : { accessToken: token }),
    }
    return { text: proofBy(key, { ...request, ...more }), method, path }
  }

  type Authenticated = Awaited<ReturnType<AccountServer['authenticate']>>

  /** Returns the calls of an account, each after its authentication and the check of its scope. */
  const accountOf = (authenticated: (method: string, path: string) => Promise<Authenticated>) =>
    through({ ...rest, ...signedIn }, async ({ method }, path) => {
      const session = await authenticated(method, path)
      const segments = path.slice(1).split('/')
      const needed = need(method, segments)
      if (needed !== 'none') requireScope(session.scope, needed, method, segments)
      return { answers: service.answers, caller: session }
    }) as unknown as Account

  const authenticate = async (token: string, key: KeyPair, method: string, path: string) =>
    service.authenticate({ token, proof: await proofOf(key, { method, path, token }) })

  const doorOf = (key?: KeyPair) =>
    through(entrance, async ({ method }, path) => {
      const caller =
        key === undefined
          ? { key: null }
          : await service.visitor(await proofOf(key, { method, path }))
      return { answers: service.open, caller }
    }) as unknown as UnauthenticatedClient

  function deviceAccount(of: SessionCredentials): Account {
    const state = { clock: newServerClock(() => clock.ms), nonce: null }
    const renew: UnauthenticatedClient['session']['renew'] = async (input) =>
      doorOf(await of.key()).session.renew(input)
    const session = deviceSession(state, of, renew)
    const attempt = async (method: string, path: string) => {
      const token = (await session.token())!
      return authenticate(token, await of.key(), method, path).catch((error: AppError) => {
        if (statusOf(error.code) === 401) session.refused(token)
        throw error
      })
    }
    const account = accountOf((method, path) =>
      attempt(method, path).catch((error: AppError) => {
        if (statusOf(error.code) !== 401) throw error
        return attempt(method, path)
      }),
    )
    return mapRows<Call, Call>(
      account as unknown as ByRow<Call>,
      (call) => (input) =>
        call(input).catch((error: unknown) => {
          throw error instanceof AppError ? session.toError(error) : error
        }),
    ) as unknown as Account
  }

  return {
    service,
    clock,
    mailDir,
    proofOf,
    deviceAccount,
    server: {
      door: doorOf,
      account: ({ access_token: token, keys }) =>
        accountOf((method, path) => authenticate(token, keys.auth, method, path)),
      newEnrolmentCode: (of) => service.newEnrolmentCode(of),
      letters: (address) => lettersIn(mailDir, address),
    },
    close: async () => {
      await service.close()
      rmSync(mailDir, { recursive: true, force: true })
    },
  }
}

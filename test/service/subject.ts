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
import type { KeyPair } from '../../src/crypto/device-keys.ts'
import { signProof } from '../../src/crypto/jose/dpop.ts'
import { toAppError } from '../../src/errors.ts'
import { openService, type AccountServer } from '../../src/service/service.ts'
import type { Subject } from '../account/subject.ts'
import { assertDeclared } from '../declared-errors.ts'
import { lettersIn } from './letters.ts'

/** The address of the database. */
export interface Place {
  readonly url: string | null
  readonly file: string
}

export const PUBLIC_URL = 'https://countersign.test'

export interface LocalSubject extends Subject {
  readonly service: AccountServer
  readonly mailDir: string
  /** Returns a valid proof for a request; `more` replaces values as a thief would. */
  proofOf(
    key: KeyPair,
    of: { method: string; path: string; token?: string },
    more?: Partial<Parameters<typeof signProof>[0]>,
  ): Promise<{ text: string; method: string; path: string }>
}

type Input = Readonly<Record<string, unknown>>
type Calls = Readonly<Record<string, Readonly<Record<string, (input: Input) => Promise<unknown>>>>>

/** Returns the rows of a table as calls; `answer` returns the implementation for one request. */
function through(
  table: Table,
  answer: (route: Route, path: string) => Promise<object>,
): Record<string, unknown> {
  const groups = Object.entries(table).map(([group, routes]) => {
    const calls = Object.entries(routes).map(([name, route]) => {
      const call = async (input: Input) => {
        const path = route.path.replace(/{(\w+)}/g, (_, param: string) =>
          encodeURIComponent(String(input[param])),
        )
        try {
          return await ((await answer(route, path)) as Calls)[group]![name]!(input)
        } catch (error) {
          const needed = need(route.method, route.path.slice(1).split('/'))
          const failure = { table, route, need: needed, code: toAppError(error).code }
          assertDeclared(failure, 'account server')
          throw error
        }
      }
      return [name, call] as const
    })
    return [group, Object.fromEntries(calls)] as const
  })
  return Object.fromEntries(groups)
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
  const service = await openService({
    ...place,
    publicUrl: () => PUBLIC_URL,
    version: '1.2.3',
    now: () => clock.ms,
    mail: { dir: mailDir },
    from: 'Countersign <countersign@countersign.test>',
    log: () => undefined,
    ...more,
  })

  const proofOf: LocalSubject['proofOf'] = async (key, { method, path, token }, more = {}) => {
    const request = {
      method,
      url: PUBLIC_URL + path,
      at: Math.floor(clock.ms / 1000),
      nonce: await service.nonce(),
      ...(token === undefined ? {} : { accessToken: token }),
    }
    return { text: await signProof({ ...request, ...more }, key), method, path }
  }

  return {
    service,
    clock,
    mailDir,
    proofOf,
    server: {
      door: (key) =>
        through(entrance, async ({ method }, path) => {
          if (key === undefined) return service.door({ key: null })
          return service.door(await service.visitor(await proofOf(key, { method, path })))
        }) as unknown as UnauthenticatedClient,
      account: ({ access_token: token, keys }) =>
        through({ ...rest, ...signedIn }, async ({ method }, path) => {
          const proof = await proofOf(keys.auth, { method, path, token })
          const session = await service.authenticate({ token, proof })
          const segments = path.slice(1).split('/')
          const needed = need(method, segments)
          if (needed !== 'none') requireScope(session.scope, needed, method, segments)
          return service.as(session)
        }) as unknown as Account,
      newEnrolmentCode: (of) => service.newEnrolmentCode(of),
      letters: (address) => lettersIn(mailDir, address),
    },
    close: async () => {
      await service.close()
      rmSync(mailDir, { recursive: true, force: true })
    },
  }
}

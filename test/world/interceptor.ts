/**
 * The interceptor at the port between a device and its account server. It replaces single calls:
 * it can delay, lose, repeat or change requests and answers, as a failing or dishonest server does.
 */
import type { Account, UnauthenticatedClient } from '../../src/api/port.ts'
import { AppError, type ErrorCode } from '../../src/errors.ts'

/** Stands between a device and its account at the server. */
export type Between = (account: Account) => Account

/** Stands between a device and the calls that need no session. */
export type BetweenDoor = (door: UnauthenticatedClient) => UnauthenticatedClient

/** Replaces one call of a port; `answer` gets the honest one. */
const replacing =
  <P, G extends keyof P, R extends keyof P[G]>(
    group: G,
    row: R,
    answer: (honest: P[G][R]) => P[G][R],
  ) =>
  (port: P): P => ({ ...port, [group]: { ...port[group], [row]: answer(port[group][row]) } })

/** Replaces one call of an account; `answer` gets the honest one. */
export const instead = <G extends keyof Account, R extends keyof Account[G]>(
  group: G,
  row: R,
  answer: (honest: Account[G][R]) => Account[G][R],
): Between => replacing<Account, G, R>(group, row, answer)

/** Replaces one call without a session; `answer` gets the honest one. */
export const insteadAtDoor = <
  G extends keyof UnauthenticatedClient,
  R extends keyof UnauthenticatedClient[G],
>(
  group: G,
  row: R,
  answer: (honest: UnauthenticatedClient[G][R]) => UnauthenticatedClient[G][R],
): BetweenDoor => replacing<UnauthenticatedClient, G, R>(group, row, answer)

/** Applies several interceptors; the first one is next to the server. */
export const both =
  <P>(...all: readonly ((port: P) => P)[]) =>
  (port: P): P =>
    all.reduce((seen, one) => one(seen), port)

/** A call to a server that is away. */
export const away = (): Promise<never> =>
  Promise.reject(new AppError('backend_unavailable', 'The server is away.'))

/** A call that the server refuses with this code. */
export const refusing =
  (...error: ConstructorParameters<typeof AppError>) =>
  (): Promise<never> =>
    Promise.reject(new AppError(...error))

/** Loses the answers of a call a number of times, after the server acted. */
export const losing =
  (times: number, code: ErrorCode = 'backend_unavailable') =>
  <I, O>(honest: (input: I) => Promise<O>) => {
    let left = times
    return async (input: I): Promise<O> => {
      const answer = await honest(input)
      if (left === 0) return answer
      left -= 1
      throw new AppError(code, 'The answer is lost.')
    }
  }

/** Reports every connection as changed. */
export const restless: Between = instead('connections', 'list', (honest) => async (page) => {
  const { items, next_cursor } = await honest(page)
  const updated_at = '2031-01-01T00:00:00.000Z'
  return { items: items.map((item) => ({ ...item, updated_at })), next_cursor }
})

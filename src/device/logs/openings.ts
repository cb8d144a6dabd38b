/**
 * The requests that create connections. Each is stored until the account server has responded,
 * because a second attempt must send the same request: sealing is random, and the own key log may
 * have grown.
 */
import type { Account } from '../../api/port.ts'
import type { State } from '../../state/state.ts'

export type Opening = Parameters<Account['rosters']['open']>[0]['body']

const key = (connection: string) => `opening ${connection}`

export const readOpening = ({ meta }: State, connection: string) =>
  meta.get(key(connection)) as Opening | null

export const keepOpening = ({ meta }: State, opening: Opening): void =>
  meta.set(key(opening.connection), opening)

export const dropOpening = ({ meta }: State, connection: string): void =>
  meta.delete(key(connection))

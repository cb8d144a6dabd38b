/** What a handler gets beside its input: the account of the caller and, where there is one, this device. */
import type { Account } from '../api/port.ts'
import type { Rest } from '../api/rest/index.ts'
import type { Answers } from '../api/route.ts'
import type { Caller, Tokens } from '../auth/tokens.ts'
import type { Device } from '../device/device.ts'

/** The device, and the tokens it gave out. */
export interface Local extends Device {
  readonly tokens: Tokens
}

export interface Context {
  readonly account: Account
  readonly local: Local
  /** null on a public route. */
  readonly caller: Caller | null
  /** The media types the caller would take. */
  readonly accept: string
}

export type Handlers = Answers<Rest, 'daemon' | 'both', Context>

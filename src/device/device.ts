/** This device, as handlers see it: who it is, what it holds, and what it can do without asking anybody. */
import type { Account } from '../api/port.ts'
import type { Keychain } from '../keychain/keychain.ts'
import type { Log } from '../log.ts'
import type { State } from '../state/state.ts'
import { type Codes, openCodes } from './codes.ts'
import type { Identity } from './identity.ts'
import { type Sync, newSync } from './sync.ts'
import { type Vault, openVault } from './vault.ts'
import { type Freshness, type Verifier, newVerifier } from './verifier.ts'

/** Facts of this run. */
export interface Run {
  readonly startedAt: number
  readonly environment: string
  /** The base URL of the account server. */
  readonly backend: () => string
  readonly keychain: Keychain['backend']
}

export interface Device extends Run {
  readonly now: () => number
  readonly state: State
  readonly identity: Identity
  readonly vault: Vault
  readonly codes: Codes
  readonly verifier: Verifier
  readonly sync: Sync
}

/** Put the device together. */
export function openDevice(options: {
  state: State
  keychain: Keychain
  identity: Identity
  account: () => Account
  now: () => number
  freshness: Freshness
  log: Log
  run: Run
}): Device {
  const { state, keychain, identity, account, now, freshness, log } = options
  const vault = openVault(keychain, state.secrets)
  const codes = openCodes(state, vault, identity.account)
  const sync = newSync({ state, vault, codes, identity, account, now, log })
  const verifier = newVerifier({ state, codes, now, freshness })
  return { ...options.run, now, state, identity, vault, codes, verifier, sync }
}

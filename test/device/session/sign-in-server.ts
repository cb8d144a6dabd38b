/**
 * An account server in memory, as devices see it while they sign in. The test can make it lie.
 */
import type { Account, UnauthenticatedClient } from '../../../src/api/port.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { readAssertion, verifyAssertion } from '../../../src/crypto/jose/client-assertion.ts'
import type { LoggedKeys } from '../../../src/crypto/device-public-keys.ts'
import { publicKeys } from '../../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { PublicJwk } from '../../../src/crypto/jose/jwk.ts'
import { type KeyLog, verifyKeyLog } from '../../../src/crypto/logs/key-log.ts'
import { AppError } from '../../../src/errors.ts'
import type { Identity } from '../../../src/device/identity/identity.ts'
import { T0 } from '../bench.ts'
import { paged } from '../paged.ts'

export const ORIGIN = 'https://countersign.test'

interface Holder {
  account: string | null
  readonly email: string | null
  readonly key: PublicJwk | null
  /** The id under which the machine is registered. */
  readonly machine: string | null
}
interface Row {
  readonly account: string
  readonly name: string
  readonly keys: LoggedKeys
  approved: boolean
  session: string | null
  attempt?: Attempt
}
/** The newest attempt of a device to be approved, as the relay has it. */
interface Attempt {
  readonly commitment: string
  answered_by: string | null
  answer: object | null
  reveal: object | null
}
interface Code {
  readonly holder: Holder
  usedBy: string | null
}

const no = () => new AppError('invalid_token', 'The code "secret" is no good.')
const revoked = () =>
  new AppError('invalid_state', 'This device was revoked.', { details: { state: 'revoked' } })
const gone = () => new AppError('not_signed_in', 'not signed in')

export type TestServer = ReturnType<typeof testServer>

/** @param origin the origin that it reports */
export function testServer(origin = ORIGIN) {
  const clock = { ms: T0 }
  const holders: Holder[] = []
  const logs = new Map<string, string[]>()
  const devices = new Map<string, Row>()
  const codes = new Map<string, Code>()
  const assertions = new Set<string>()
  const receiptKey = publicKeys(newDeviceKeys()).sign

  function holderOf(email: string): Holder {
    const known = holders.find((one) => one.email === email)
    if (known !== undefined) return known
    const made = { account: null, email, key: null, machine: null }
    holders.push(made)
    return made
  }

  type Given = { code?: string | undefined; assertion?: string | undefined }
  async function opened({ code, assertion }: Given): Promise<Code> {
    if (assertion === undefined) {
      const found = codes.get(code ?? '')
      if (found === undefined) throw no()
      return found
    }
    if (assertions.has(assertion)) throw no()
    assertions.add(assertion)
    const { machine } = readAssertion(assertion)
    const holder = holders.find((one) => one.machine === machine)
    if (holder?.key == null) throw no()
    const now = clock.ms / 1000
    await verifyAssertion(assertion, { publicKey: holder.key, audiences: [origin], now })
    return { holder, usedBy: null }
  }

  function admit(code: Code, device: string, row: Omit<Row, 'session'>) {
    if (code.usedBy !== null && code.usedBy !== device) throw no()
    code.usedBy = device
    const session = newId('ses_', clock.ms)
    devices.set(device, { ...row, session })
    return {
      account_id: row.account,
      device_id: device,
      approved: row.approved,
      receipt_key: receiptKey,
      session: {
        session_id: session,
        refresh_token: `refresh ${session}`,
        access_token: 'access',
        access_expires_at: new Date(clock.ms).toISOString(),
      },
    }
  }

  const entryOf = (jws: string) =>
    JSON.parse(Buffer.from(jws.split('.')[1] as string, 'base64url').toString()) as {
      account: string
      device: string
      op: string
    }

  const store = (log: KeyLog) => {
    logs.set(log.account, [...log.entries])
    for (const { id, revokedAt } of log.devices.values()) {
      const row = devices.get(id)
      if (row !== undefined && revokedAt !== null) row.session = null
    }
    return log
  }

  const door = {
    clock: { read: async () => ({ now: new Date(clock.ms).toISOString(), public_url: origin }) },
    signIns: {
      create: async ({ body: { email } }: { body: { email: string } }) => {
        const code = `CODE-${codes.size}`
        codes.set(code, { holder: holderOf(email), usedBy: null })
        return { email, expires_at: new Date(clock.ms + 900_000).toISOString() }
      },
      read: async ({ body }: { body: Given & { from?: number } }) => {
        const { account, email } = (await opened(body)).holder
        const { entries: key_log, seq } = paged(logs.get(account ?? '') ?? [], body)
        return { account_id: account, email, key_log, key_log_seq: seq < 0 ? null : seq }
      },
    },
    enrolment: {
      create: async ({ body }: { body: Given & { entry: string; device_name: string } }) => {
        const code = await opened(body)
        const { account, device } = entryOf(body.entry)
        const { holder } = code
        if (holder.account !== null && holder.account !== account) throw no()
        const before = logs.get(account) ?? []
        const has = before.includes(body.entry)
        const log = verifyKeyLog(account, has ? before : [...before, body.entry])
        const own = log.devices.get(device)
        if (own === undefined) throw no()
        if (own.revokedAt !== null) throw revoked()
        const made = admit(code, device, {
          account,
          name: body.device_name,
          keys: own.keys,
          approved: true,
        })
        holder.account = account
        store(log)
        return made
      },
      further: async ({
        body,
      }: {
        body: Given & { device: string; device_name: string; keys: LoggedKeys }
      }) => {
        const code = await opened(body)
        const { account } = code.holder
        if (account === null) throw no()
        const { device, keys, device_name: name } = body
        const known = verifyKeyLog(account, logs.get(account) ?? []).devices.get(device)
        if (known != null && known.revokedAt !== null) throw revoked()
        const approved = devices.get(device)?.approved ?? false
        return admit(code, device, { account, name, keys, approved })
      },
    },
  }

  /** Returns the account with the calls that a device may make. */
  function accountOf({ account, device, session }: Identity): Account {
    const row = () => {
      const found = devices.get(device)
      if (found === undefined || found.session === null) throw gone()
      if (session !== found.session && !found.approved) throw gone()
      return found
    }
    /**
     * Returns whether a device may append: one in the log without approval may only remove
     * itself.
     */
    const mayAppend = (entry: string) => {
      const { op, device: whom } = entryOf(entry)
      if (!row().approved && (op !== 'revoke' || whom !== device))
        throw new AppError('forbidden', 'waits for approval')
    }
    const mayWrite = () => {
      if (!row().approved) throw new AppError('forbidden', 'waits for approval')
    }
    const waiting = (id: string) => {
      const found = devices.get(id)
      if (found?.account === account && !found.approved) return found
      throw new AppError('not_found', 'no such device waits')
    }
    const mine = () => [...devices].filter(([, one]) => one.account === account)
    const calls = {
      context: { read: async () => void row() },
      devices: {
        list: async () => ({
          items: mine().map(([id, { name, approved }]) => ({
            id,
            name,
            state: approved ? 'active' : 'pending',
          })),
          next_cursor: null,
        }),
      },
      keyLogs: {
        read: async (of: { from?: number }) => (
          row(),
          { ...paged(logs.get(account) ?? [], of), seal_keys: [] }
        ),
        append: async ({ body: { entry } }: { body: { entry: string } }) => {
          mayAppend(entry)
          const before = logs.get(account) ?? []
          try {
            const { seq, head } = store(verifyKeyLog(account, [...before, entry]))
            return { seq, head: encodeBase64url(head) }
          } catch (cause) {
            throw new AppError('conflict', 'another came first', { cause })
          }
        },
      },
      pendingDevices: {
        read: async ({ id }: { id: string }) => {
          mayWrite()
          const { name, attempt } = waiting(id)
          const { commitment = null, answered_by = null, reveal = null } = attempt ?? {}
          return { id, name, platform: 'linux', commitment, answered_by, reveal }
        },
        answer: async ({
          id,
          body,
        }: {
          id: string
          body: { commitment: string; answer: object }
        }) => {
          mayWrite()
          const { attempt } = waiting(id)
          const isFirst = attempt?.answer === null && attempt.commitment === body.commitment
          if (!isFirst) throw new AppError('conflict', 'another attempt')
          attempt.answer = body.answer
          attempt.answered_by = device
        },
      },
      approval: {
        begin: async ({ body: { commitment } }: { body: { commitment: string } }) => {
          row().attempt = { commitment, answered_by: null, answer: null, reveal: null }
        },
        read: async () => {
          const { commitment = null, answer = null } = row().attempt ?? {}
          return { commitment, answer }
        },
        reveal: async ({ body }: { body: { commitment: string; reveal: object } }) => {
          const { attempt } = row()
          if (attempt?.commitment !== body.commitment) throw new AppError('conflict', 'no attempt')
          attempt.reveal = body.reveal
        },
        create: async ({ body: { head } }: { body: { head: string } }) => {
          const log = verifyKeyLog(account, logs.get(account) ?? [])
          if (!log.heads.some((one) => encodeBase64url(one) === head)) throw no()
          if (!log.devices.has(device)) throw no()
          row().approved = true
        },
      },
      currentSession: {
        delete: async () => {
          row()
          devices.delete(device)
        },
      },
    }
    return calls as unknown as Account
  }

  return {
    origin,
    now: () => clock.ms,
    clock,
    door: door as unknown as UnauthenticatedClient,
    accountOf,
    logs,
    devices,
    /** Accounts that have a key log. */
    accounts: () => [...logs.keys()],
    /** Returns the newest code that was mailed. */
    code: (_email?: string) => [...codes.keys()].at(-1) as string,
    /** Registers a machine with this key, which has no account yet. */
    machine(key: PublicJwk): string {
      const machine = newId('mch_', clock.ms)
      holders.push({ account: null, email: null, key, machine })
      return machine
    },
    logOf: (account: string) => verifyKeyLog(account, logs.get(account) ?? []),
  }
}

/** The account server under test, for each implementation, and checks of its answers. */
import assert from 'node:assert/strict'
import type { Account } from '../../src/api/port.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { rejects } from '../rejects.ts'
import type { Maker, Server } from '../service/person.ts'

export interface Subject {
  readonly server: Server
  /** The server's clock, in Unix milliseconds; the suite sets it. */
  readonly clock: { ms: number }
  readonly close: () => Promise<void>
}

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

export type Call = (account: Account) => Promise<unknown>

/** Asserts that a call is rejected because of this member of its body. */
export async function isInvalid(path: string, reason: string, call: Promise<unknown>) {
  const { details } = await rejects('validation_failed', call)
  const [issue] = details.issues ?? []
  assert.equal(issue?.path, path)
  assert.match(issue.message, new RegExp(reason))
}

/** Returns every item of a list, page by page. */
export async function everything<T>(
  list: (page: {
    limit?: number
    cursor?: string
  }) => Promise<{ items: T[]; next_cursor: string | null }>,
  limit: number,
): Promise<T[][]> {
  const pages: T[][] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await list({ limit, ...(cursor === undefined ? {} : { cursor }) })
    pages.push(page.items)
    cursor = page.next_cursor
  }
  return pages
}

/**
 * Asserts that a session was rejected. Behind a daemon, the server’s 401 is never shown as one of
 * the caller.
 */
export const shutOut = (promise: Promise<unknown>) =>
  assert.rejects(
    promise,
    ({ code }: { code?: unknown }) => code === 'invalid_token' || code === 'not_signed_in',
  )

/**
 * The state that the suites of an account share. It exists once tests run, so each suite reads it
 * in `before`.
 */
export type Accounts = Awaited<ReturnType<typeof openAccounts>>

/** Opens a server on a new database; the caller closes the subject. */
export async function openAccounts(open: () => Promise<Subject>) {
  const subject = await open()
  const { server } = subject
  const later = (ms: number) => {
    subject.clock.ms += ms
  }
  const time = () => new Date(subject.clock.ms).toISOString()
  const rejected = (access_token: string, { keys }: Pick<Maker, 'keys'>) =>
    shutOut(server.account({ access_token, keys }).context.read({}))
  const newGuest = (
    account: Account,
    { label = 'Plumber', expires_at = new Date(subject.clock.ms + HOUR).toISOString() } = {},
    id = newId('gst_', Date.now()),
  ) => account.deviceGuestCodes.create({ body: { id, label, expires_at } })

  return { subject, server, later, time, rejected, newGuest }
}

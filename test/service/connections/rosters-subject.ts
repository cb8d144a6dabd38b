/**
 * Rosters at an account server in this process, and helpers for rejected entries. Tests can
 * access its database directly.
 */
import assert from 'node:assert/strict'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import type { Actor } from './connecting.ts'
import { openServiceDatabase } from '../database.ts'
import { rejects } from '../../rejects.ts'
import { additionBy, approve, join, mailedCode, type Person } from '../person.ts'
import { openSubject, type Place } from '../subject.ts'

/** Returns the head after an entry, base64url. */
export const headOf = (entry: string) => encodeBase64url(entryHash(entry))

/**
 * Checks that a call is rejected because another entry was first, and that the error names the
 * head.
 */
export const tooLate = (call: Promise<unknown>, head: string) => rejects('conflict', call, { head })

/** Checks that a call is rejected because of this member of the body, for this reason. */
export async function isInvalid(
  path: string,
  reason: string,
  call: Promise<unknown>,
  what: string,
) {
  const { details } = await rejects('validation_failed', call)
  const [issue] = details.issues ?? []
  assert.equal(issue?.path, path, what)
  assert.match(issue.message, new RegExp(`^${reason}`), what)
}

/** Returns the payload of a JWS, unverified. */
export const payloadOf = (jws: string) =>
  JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>

export const read = ({ account }: Person, id: string) => account.connections.read({ id })
export const envelopesOf = async ({ account }: Pick<Actor, 'account'>, connection: string) =>
  (await account.envelopes.read({ connection })).envelopes
export const unsealed = async ({ account }: Pick<Person, 'account'>, id: string) =>
  (await account.duties.read({})).unsealed.find(({ connection }) => connection === id)?.devices

/**
 * The shared subject of the suites of rosters. It exists once tests run, so each suite reads it
 * in `before`.
 */
export type Rosters = Awaited<ReturnType<typeof openRosters>>

/** Opens an account server on a new database. The caller closes it. */
export async function openRosters(newPlace: () => Promise<Place>) {
  const place = await newPlace()
  const subject = await openSubject(place)
  const { server } = subject
  const hand = await openServiceDatabase(place)

  /** Returns all rows of a connection. */
  async function stored(id: string) {
    const of = { lists: [] as unknown[] }
    const tables = ['memberships', 'roster_entries', 'envelopes', 'invitations'] as const
    for (const table of tables) {
      const rows = await hand.db
        .selectFrom(table)
        .selectAll()
        .where('connection_id', '=', id)
        .execute()
      of.lists.push(rows.map((row) => JSON.stringify(row)).sort())
    }
    return of
  }

  /**
   * Returns the account of a device without the scope check of the wire. That check allows a
   * waiting device less.
   */
  const insideOf = ({
    id: account,
    device,
    enrolment,
  }: Pick<Person, 'id' | 'device' | 'enrolment'>) => {
    const { session_id: session } = enrolment.session
    return subject.service.as({ account, device, session, token: null })
  }

  /** Enrols a second device of a person with a mailbox, approved or only named in the key log. */
  async function laptopOf(person: Person, email: string, { isApproved = true } = {}) {
    const laptop = await join(server, await mailedCode(server, email))
    if (isApproved) await approve(person, laptop)
    else await person.account.keyLogs.append({ body: { entry: await additionBy(person, laptop) } })
    const own = { ...laptop, id: person.id }
    return isApproved ? own : { ...own, account: insideOf(own) }
  }

  const close = async () => {
    await hand.close()
    await subject.close()
  }
  return { place, subject, server, hand, stored, insideOf, laptopOf, close }
}

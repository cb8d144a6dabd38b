/**
 * An account server in this process, with people who add addresses and read the mails to them.
 */
import assert from 'node:assert/strict'
import type { Content } from '../../src/api/route.ts'
import { openServiceDatabase } from './database.ts'
import type { Engine } from './engines.ts'
import { enrol, enrolByMail, newAddress, type Person } from './person.ts'
import { openSubject } from './subject.ts'
import { until } from '../until.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const LINK = /https:\/\/countersign\.test\/confirm\/([\w-]{43})\n/
/** The text of the page for a link that is not valid. */
export const ENDED = /This link is no longer valid/

const ANYBODY = { key: null }
const plain = ({ body }: Content) => (body as string).replace(/\s+/g, ' ')

/**
 * The shared subject of the suites of addresses. It exists once tests run, so each suite reads it
 * in `before`.
 */
export type Mailboxes = Awaited<ReturnType<typeof openMailboxes>>

/**
 * Opens a server on a new database, with a replica where the engine has them. The caller closes
 * it.
 */
export async function openMailboxes({ newPlace, replicas }: Engine) {
  const place = await newPlace()
  const subject = await openSubject(place)
  const replica = replicas ? await openSubject(place, subject.clock) : subject
  const hand = await openServiceDatabase(place)
  const servers = [...new Set([subject, replica])]

  const later = (ms: number) => {
    subject.clock.ms += ms
  }
  const time = () => new Date(subject.clock.ms).toISOString()
  /** Returns a person with a session that the clock does not end. */
  function inside(person: Person, at = subject): Person {
    const { session_id: session } = person.enrolment.session
    const who = { account: person.id, device: person.device, session, token: null }
    return { ...person, account: at.service.as(who) }
  }
  const person = async (called = 'Ada') => inside(await enrol(subject.server, called))
  const byMail = async (address = newAddress(), called = 'Ada') =>
    inside(await enrolByMail(subject.server, address, called))

  const add = ({ account }: Pick<Person, 'account'>, address: string) =>
    account.emails.create({ body: { address } })
  const listed = async ({ account }: Pick<Person, 'account'>) =>
    (await account.emails.list({})).items
  /** Returns the listed addresses, with a question mark after those that are not confirmed. */
  const addresses = async (of: Pick<Person, 'account'>) =>
    (await listed(of)).map(({ address, verified }) => (verified ? address : `${address}?`))

  /** Returns the tokens that were mailed to an address. */
  async function links(address: string): Promise<string[]> {
    const letters = await Promise.all(servers.map(({ server }) => server.letters(address)))
    return letters.flat().flatMap(({ text }) => LINK.exec(text)?.[1] ?? [])
  }
  /** Returns these tokens once there are that many; mails are sent in the background. */
  async function mailed(address: string, least = 1): Promise<string[]> {
    return until(`${least} letters to ${address}`, async () => {
      const all = await links(address)
      return all.length >= least ? all : undefined
    })
  }
  const claimed = async (of: Pick<Person, 'account'>, address: string) => {
    const mailbox = address.toLowerCase()
    const before = (await links(mailbox)).length
    const email = await add(of, address)
    const token = (await mailed(mailbox, before + 1)).at(-1)!
    return { email, token }
  }

  const page = async (token: string) =>
    plain(await subject.service.open.confirmationPages.read({ token }, ANYBODY))
  const confirm = async (token: string, at = subject) =>
    plain(await at.service.open.confirmationPages.confirm({ token, body: {} }, ANYBODY))
  const reject = async (token: string) =>
    plain(
      await subject.service.open.confirmationPages.confirm(
        { token, body: { answer: 'reject' } },
        ANYBODY,
      ),
    )
  const confirmed = async (of: Person, address: string) => {
    const { email, token } = await claimed(of, address)
    assert.match(await confirm(token), /Your address is confirmed/)
    return email
  }

  const close = async () => {
    await hand.close()
    await Promise.all(servers.map((one) => one.close()))
  }
  return {
    subject,
    database: place,
    replica,
    hand,
    later,
    time,
    inside,
    person,
    byMail,
    close,
    add,
    listed,
    addresses,
    links,
    mailed,
    claimed,
    page,
    confirm,
    reject,
    confirmed,
  }
}

/** An account server in this process, whose people add addresses and read what is mailed there. */
import assert from 'node:assert/strict'
import type { Content } from '../../src/api/route.ts'
import { openServiceDatabase } from './database.ts'
import type { Engine } from './engines.ts'
import { enrol, enrolByMail, newAddress, type Person } from './person.ts'
import { openSubject } from './subject.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const LINK = /https:\/\/countersign\.test\/confirm\/([\w-]{43})\n/
/** What the page says of a link that is good for nothing. */
export const ENDED = /This link has ended/

const ANYBODY = { key: null }
const plain = ({ body }: Content) => (body as string).replace(/\s+/g, ' ')

/** What the suites of addresses share. It is there once tests run, so each takes its part in `before`. */
export type Mailboxes = Awaited<ReturnType<typeof openMailboxes>>

/** A server on a new database, with a replica where the engine has them; whoever opens it closes it. */
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
  /** A person whose session does not end with the clock. */
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
  /** What is listed, with a mark at what was not confirmed. */
  const addresses = async (of: Pick<Person, 'account'>) =>
    (await listed(of)).map(({ address, verified }) => (verified ? address : `${address}?`))

  /** The tokens that were mailed to an address. */
  async function links(address: string): Promise<string[]> {
    const letters = await Promise.all(servers.map(({ server }) => server.letters(address)))
    return letters.flat().flatMap(({ text }) => LINK.exec(text)?.[1] ?? [])
  }
  /** The same once they are so many; mails go out while nobody waits. */
  async function mailed(address: string, least = 1): Promise<string[]> {
    for (;;) {
      const all = await links(address)
      if (all.length >= least) return all
      await new Promise(setImmediate)
    }
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
    confirmed,
  }
}

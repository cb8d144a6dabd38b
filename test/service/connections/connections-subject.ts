/**
 * People who invite each other at an account server in this process. Tests can access its
 * database directly.
 */
import { openServiceDatabase } from '../database.ts'
import { connect, enrol, enrolByMail, newAddress, type Person } from '../person.ts'
import { openSubject, type Place } from '../subject.ts'

export const DAY = 24 * 3_600_000
export const HOUR = 3_600_000

export const invite = ({ account }: Person, id: string, to: Person | string) =>
  account.members.add({ id, body: typeof to === 'string' ? { email: to } : { user_id: to.id } })
export const members = async ({ account }: Person, id: string) =>
  (await account.connections.read({ id })).members
export const received = async ({ account }: Person, connection: string) =>
  (await account.invitations.list({})).received.filter((one) => one.connection_id === connection)
export const sent = async ({ account }: Person, connection: string) =>
  (await account.invitations.list({})).sent.filter((one) => one.connection_id === connection)

/**
 * The shared subject of the suites of connections. It exists once tests run, so each suite reads
 * it in `before`.
 */
export type Clubs = Awaited<ReturnType<typeof openClubs>>

/**
 * Opens an account server on a new database, with people who are in many connections. The caller
 * closes it. Ada and Carl have mailboxes.
 */
export async function openClubs(newPlace: () => Promise<Place>) {
  const place = await newPlace()
  const subject = await openSubject(place)
  const { server } = subject
  const hand = await openServiceDatabase(place)

  const later = (ms: number) => {
    subject.clock.ms += ms
  }
  const time = (ms = 0) => new Date(subject.clock.ms + ms).toISOString()
  const letters = async (address: string) =>
    (await server.letters(address)).filter(({ subject: about }) => /invitation/.test(about))
  /** Returns a person with a session that the clock does not end. */
  const inside = (person: Person): Person => {
    const { session_id } = person.enrolment.session
    const who = { account: person.id, device: person.device, session: session_id, token: null }
    return { ...person, account: subject.service.as(who) }
  }

  const ada = inside(await enrolByMail(server, newAddress(), 'Ada'))
  const bob = inside(await enrol(server, 'Bob'))
  const carl = inside(await enrolByMail(server, newAddress(), 'Carl'))
  const owner = inside(await enrol(server, 'Owner'))
  /** Opens a new connection of Ada’s and returns its id. */
  const club = async () => (await connect(ada, 'Club')).id

  const close = async () => {
    await hand.close()
    await subject.close()
  }
  return { server, hand, ada, bob, carl, owner, later, time, letters, inside, club, close }
}

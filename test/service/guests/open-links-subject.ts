/**
 * People with open links at an account server in this process, and visitors of these links. Tests
 * can access the database directly.
 */
import assert from 'node:assert/strict'
import type { Content } from '../../../src/api/route.ts'
import type { Place } from '../subject.ts'
import { openServiceDatabase } from '../database.ts'
import { arrived, enrol, enrolByMail, newAddress, type Person } from '../person.ts'
import { PUBLIC_URL, openSubject } from '../subject.ts'

export const HOUR = 3_600_000
const NOBODY = { key: null }

/** Text with an effect in a page, a mail or a terminal that does not escape it. */
export const HOSTILE = '"><img src=x onerror=alert(1)>{{7*7}}%0d%0aBcc: x'

/** The shared subject of the suites of open links. It exists once tests run. */
export type Links = Awaited<ReturnType<typeof openLinksSubject>>

/** Returns the text of a page. */
export const textOf = (page: Content): string => {
  assert.equal(page.type, 'text/html; charset=utf-8')
  return page.body as string
}

/** Opens a server on a new database. The caller closes it. */
export async function openLinksSubject(newPlace: () => Promise<Place>) {
  const place = await newPlace()
  const subject = await openSubject(place)
  const { server, service, clock } = subject
  const { openLinkPages, confirmationPages } = service.open
  const hand = await openServiceDatabase(place)

  /** Returns a person with a session that the clock does not end. */
  const inside = (person: Person): Person => {
    const { session_id } = person.enrolment.session
    const who = { account: person.id, device: person.device, session: session_id, token: null }
    return { ...person, account: service.as(who) }
  }
  /** Returns the same account for the bearer of a machine account’s token. */
  const asMachine = ({ id }: Person) =>
    service.as({ account: id, device: null, session: null, token: 'mtk_1' })

  const page = (slug: string) => openLinkPages.read({ slug }, NOBODY)
  const post = (slug: string, body: { display_name?: string; email?: string; message?: string }) =>
    openLinkPages.ask(
      { slug, body: { display_name: 'Gus', email: '', message: '', ...body } },
      NOBODY,
    )

  const confirmationsTo = async (address: string) =>
    (await server.letters(address)).flatMap(({ text }) => {
      const [, token] = /https:\/\/countersign\.test\/confirm\/([\w-]{43})\n/.exec(text) ?? []
      return token === undefined ? [] : [token]
    })
  /**
   * Returns the token that was mailed last, once it has arrived; mails are sent in the
   * background.
   */
  const mailed = async (address: string) => {
    await arrived(server, address, /\/confirm\//)
    return (await confirmationsTo(address)).at(-1)!
  }
  const confirmationPage = (token: string) => confirmationPages.read({ token }, NOBODY)
  const follow = (token: string) => confirmationPages.confirm({ token, body: {} }, NOBODY)
  /** Sends a request at a link and confirms it; returns the request as its owner sees it. */
  const asked = async (owner: Person, slug: string, email = newAddress(), message = '') => {
    await post(slug, { email, message })
    assert.equal((await follow(await mailed(email.toLowerCase()))).status ?? 200, 200)
    const [request] = (await owner.account.openLinkRequests.list({ limit: 1 })).items
    assert.equal(request?.requester.email, email.toLowerCase())
    return request
  }
  const link = (owner: Person, body = {}) => owner.account.openLinks.create({ body })
  /** Enrols a person who has nothing yet. */
  const newPerson = async (name = 'Ada Lovelace') => inside(await enrol(server, name))
  const rows = (id: string) =>
    hand.db.selectFrom('open_link_requests').selectAll().where('open_link_id', '=', id).execute()

  const ada = await newPerson()
  /** Enrols a person with a mailbox. */
  const newReader = async (name: string, email = newAddress()) =>
    inside(await enrolByMail(server, email, name))
  const bob = await newReader('Bob')
  return {
    subject,
    server,
    hand,
    ada,
    bob,
    newPerson,
    newReader,
    asMachine,
    page,
    post,
    mailed,
    confirmationsTo,
    confirmationPage,
    follow,
    asked,
    link,
    rows,
    url: (slug: string) => `${PUBLIC_URL}/o/${slug}`,
    later: (ms: number) => {
      clock.ms += ms
    },
    time: () => new Date(clock.ms).toISOString(),
    close: async () => {
      await hand.close()
      await subject.close()
    },
  }
}

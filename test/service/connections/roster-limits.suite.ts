/** Limits of what an account may add to a roster, which every member reads. For every engine. */
import { before, describe, test } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519.js'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { changeBy, connected, make, type Actor } from './connecting.ts'
import { rejects } from '../../rejects.ts'
import { connect, enrol, opening, type Person } from '../person.ts'
import { isInvalid, type Rosters } from './rosters-subject.ts'

const MOST = 1000
const DAY = 24 * 3_600_000

/** Returns a JWS, signed by a device, with white space at the end of its payload. */
function padded(jws: string, { keys }: Pick<Actor, 'keys'>, spaces: number): string {
  const [header, payload] = jws.split('.')
  const text = Buffer.from(payload!, 'base64url').toString()
  const signed = `${header}.${Buffer.from(`${text}${' '.repeat(spaces)}`).toString('base64url')}`
  const signature = ed25519.sign(Buffer.from(signed), keys.sign.secret)
  return `${signed}.${encodeBase64url(signature)}`
}

export function rosterLimitsSuite(rosters: () => Rosters): void {
  let { server, subject, hand } = {} as Rosters
  before(() => {
    ;({ server, subject, hand } = rosters())
  })

  /** Records that an account has appended that many roster entries today. */
  async function spent({ id: account_id }: Person, connection: string, times: number) {
    const at = subject.clock.ms
    const about = connection.slice('con_'.length)
    const tries = Array.from({ length: times }, () => ({
      account_id,
      what: 'roster' as const,
      id: newId(about, at),
      expires_at: at + DAY,
    }))
    await hand.db.insertInto('tries').values(tries).execute()
  }

  describe('a roster', () => {
    test(`accepts ${MOST} entries a day of one account, and always an entry that ends access`, async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob', 'Cy', 'Dan'])
      const [ada, bob, cy] = people
      await spent(ada, id, MOST - 3 - 1)
      await make(ada, id, { op: 'role', member: bob.id, role: 'owner' })
      await rejects('rate_limited', make(ada, id, { op: 'rotate' }), {
        says: /1,000 times in a day.*Try again in \d+ s/,
      })
      // Each account and each connection has its own count.
      await make(bob, id, { op: 'rotate' })
      const { id: second } = await connect(ada)
      await make(ada, second, { op: 'rotate' })
      await make(ada, id, { op: 'remove', member: cy.id })
      await make(ada, id, { op: 'leave' })
    })

    test('rejects entries padded with white space', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const cases: [change: Parameters<typeof make>[2], spaces: number][] = [
        [{ op: 'role', member: bob.id, role: 'owner' }, 4096],
        [{ op: 'rotate' }, 40_960],
      ]
      for (const [change, spaces] of cases) {
        const { body } = await changeBy(ada, id, change)
        const entry = padded(body.entry, ada, spaces)
        const long = ada.account.rosters.append({ connection: id, body: { ...body, entry } })
        await isInvalid('entry', 'too_large', long, change.op)
      }
      await make(ada, id, { op: 'rotate' })
      const eve = await enrol(server)
      const body = await opening(eve)
      const entry = padded(body.entry, eve, 40_960)
      const opened = eve.account.rosters.open({ body: { ...body, entry } })
      await isInvalid('entry', 'too_large', opened, 'open')
    })
  })
}

/** What is measured over so many accounts. */
import type { Account, Door } from '../src/api/port.ts'
import type { TestDaemon } from '../test/daemon.ts'
import { codeIn, lettersIn } from '../test/service/letters.ts'
import { furtherOf, newcomerOf } from '../test/service/person.ts'
import { type Row, addressOf } from './account-rows.ts'

/** An account server over so many accounts, and who asks it. */
export interface Bench {
  readonly size: number
  readonly url: string
  readonly rows: readonly Row[]
  readonly door: Door
  readonly account: Account
  readonly daemon: TestDaemon
  readonly token: string
  readonly mailDir: string
}

/** How long something takes, in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

export interface Measure {
  readonly name: string
  /** How often in a round. */
  readonly times: number
  /** Once; `n` is a new number each time. Answers milliseconds. */
  readonly once: (bench: Bench, n: number) => Promise<number>
}

/** Of as many accounts as the smallest table has: whose key log was verified before is quicker to verify again, whatever the size. */
const SEEN = 100
const somebody = ({ rows }: Bench, n: number) => rows[((n % SEEN) * 7919) % rows.length] as Row

export const MEASURES: readonly Measure[] = [
  {
    // A person whose laptop is there already: the number of accounts stays what it is.
    name: 'sign-in',
    times: 4,
    once: async ({ door, mailDir, size }, n) => {
      const email = addressOf((n * 7) % size)
      const newcomer = newcomerOf()
      const asked = await timed(() => door.signIns.create({ body: { email } }))
      const code = codeIn((await lettersIn(mailDir, email)).at(-1)!)
      const read = await timed(() => door.signIns.read({ body: { code } }))
      const enrolled = await timed(() => door.enrolment.further(furtherOf(newcomer, code)))
      return asked + read + enrolled
    },
  },
  {
    name: 'sync',
    times: 5,
    once: async ({ daemon, token }) => {
      const request = async (method: string, path: string, body?: object) => {
        const { status, json, text } = await daemon.request(method, path, { token, body })
        if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`)
        return json as { items: { id: string }[]; words: string; last_sync: { ok: boolean } }
      }
      // So that there is something to hand over: own words are logged, and are no guess.
      const [{ id }] = (await request('GET', '/api/v1/connections')).items as [{ id: string }]
      const { words } = await request('GET', `/api/v1/connections/${id}/code`)
      await request('POST', '/api/v1/verify', { words })
      return timed(async () => {
        const { last_sync } = await request('POST', '/api/v1/sync')
        if (!last_sync.ok) throw new Error(`sync: ${JSON.stringify(last_sync)}`)
      })
    },
  },
  {
    name: 'profile',
    times: 20,
    once: (bench, n) =>
      timed(() => bench.account.profiles.read({ id: somebody(bench, n).account })),
  },
  {
    name: 'its keys',
    times: 10,
    once: (bench, n) =>
      timed(() => bench.account.profiles.keys({ id: somebody(bench, n).account })),
  },
]

/**
 * Random histories of three people, with one device that asks only what changed. After any
 * history, a sync that reads everything changes nothing on that device. For both engines.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { rotateNow, setRole } from '../../../src/device/connections/members.ts'
import { AppError } from '../../../src/errors.ts'
import { preferences, profile } from '../../../src/handlers/account.ts'
import { connections, members } from '../../../src/handlers/connections.ts'
import { externalMembers, guestCodes } from '../../../src/handlers/guest-codes.ts'
import { invitations } from '../../../src/handlers/invitations.ts'
import { trustCards } from '../../../src/handlers/trust-cards.ts'
import type { State } from '../../../src/state/state.ts'
import { withoutPostgres } from '../../service/engines.ts'
import { newDatabase } from '../../service/shared-postgres.ts'
import { instead } from '../../world/interceptor.ts'
import { at } from '../../world/requests.ts'
import { joinMembers, newWorld, type DeviceUser, type World } from '../../world/world.ts'

/**
 * More with PROPERTY_RUNS=500; the same again with SEED=… and SEED_PATH=…, as a failure prints
 * them.
 */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 12)
const SEED = process.env['SEED']
const PATH = process.env['SEED_PATH']

/** How often a step is repeated until nothing is left to do for other members. */
const MOST_ROUNDS = 12

interface Scene {
  readonly world: World
  /** The device that asks only what changed; the first of its person. */
  readonly own: DeviceUser
  /** One device of each person; the first is `own`. */
  readonly people: readonly DeviceUser[]
  /** Another device of the first person. */
  twin: DeviceUser | null
}

/** The device that acts, another person, and a number that chooses among what there is. */
interface Turn {
  readonly by: DeviceUser
  readonly other: DeviceUser
  readonly pick: number
}

type Deed = (scene: Scene, turn: Turn) => Promise<unknown>

const chosen = <T>(all: readonly T[], pick: number): T | undefined => all[pick % all.length]

/** Calls `deed` with one of the connections of the acting device. */
const inConnection =
  (deed: (id: string, turn: Turn) => Promise<unknown>): Deed =>
  async (_, turn) => {
    const id = chosen(turn.by.state.connections.ids(), turn.pick)
    if (id !== undefined) await deed(id, turn)
  }

const guestOf = async ({ by, pick }: Turn) =>
  chosen((await by.account().guestCodes.list({ limit: 100 })).items, pick)

const DEEDS: Readonly<Record<string, Deed>> = {
  connect: (_, { by, other }) =>
    connections.create({ body: { name: 'Bank', invite: [{ user_id: other.id }] } }, at(by)),
  invite: inConnection((id, { by, other }) =>
    members.add({ id, body: { user_id: other.id } }, at(by)),
  ),
  approve: async (_, { by, pick }) => {
    const one = chosen((await by.account().invitations.pending({})).received, pick)
    if (one !== undefined) await invitations.approve({ id: one.id, body: {} }, at(by))
  },
  decline: async (_, { by, pick }) => {
    const one = chosen((await by.account().invitations.pending({})).received, pick)
    if (one !== undefined) await invitations.decline({ id: one.id }, at(by))
  },
  withdraw: async (_, { by, pick }) => {
    const one = chosen((await by.account().invitations.pending({})).sent, pick)
    if (one !== undefined) await invitations.withdraw({ id: one.id }, at(by))
  },
  rename: inConnection((id, { by, pick }) =>
    connections.update({ id, body: { name: `Bank ${pick}` } }, at(by)),
  ),
  renameElsewhere: inConnection((id, { by, pick }) =>
    by.account().connections.update({ id, body: { name: `Bank ${pick}` } }),
  ),
  remove: inConnection((id, { by, other }) => members.remove({ id, mid: other.id }, at(by))),
  leave: inConnection((id, { by }) => members.remove({ id, mid: by.id }, at(by))),
  end: inConnection((id, { by }) => connections.delete({ id }, at(by))),
  rotate: inConnection((id, { by }) => rotateNow(by.device(), by.account(), id)),
  promote: inConnection((connection, { by, other }) =>
    setRole(by.device(), by.account(), connection, { member: other.id, role: 'owner' }),
  ),
  guest: (_, { by, pick }) =>
    guestCodes.create({ body: { label: `Guest ${pick}`, expires_in: 3600 } }, at(by)),
  guestOfMember: async (_, { by, pick }) => {
    const body = { display_name: `Guest ${pick}` }
    const { id } = await by.account().externalMembers.create({ body })
    const external = { label: 'x', expires_in: 7200, external_member_id: id }
    await guestCodes.create({ body: external }, at(by))
  },
  revokeGuest: async (_, turn) => {
    const id = (await guestOf(turn))?.id
    if (id !== undefined) await guestCodes.delete({ id }, at(turn.by))
  },
  revokeGuestElsewhere: async (_, turn) => {
    const id = (await guestOf(turn))?.id
    if (id !== undefined) await turn.by.account().guestCodes.delete({ id })
  },
  deleteMember: async (_, turn) => {
    const id = (await guestOf(turn))?.external_member_id
    if (typeof id === 'string') await externalMembers.delete({ id }, at(turn.by))
  },
  follow: (_, { by, other }) => trustCards.create({ body: { user_id: other.id } }, at(by)),
  followElsewhere: (_, { by, other }) =>
    by.account().trustCards.create({ body: { user_id: other.id } }),
  unfollow: (_, { by, other }) => trustCards.delete({ id: other.id }, at(by)),
  unfollowElsewhere: (_, { by, other }) => by.account().trustCards.delete({ id: other.id }),
  name: (_, { by, pick }) => profile.update({ body: { display_name: `Name ${pick}` } }, at(by)),
  codeOn: (_, { by }) => preferences.update({ body: { public_code: true } }, at(by)),
  codeOff: (_, { by }) => preferences.update({ body: { public_code: false } }, at(by)),
  codeOffElsewhere: (_, { by }) =>
    by.account().preferences.update({ body: { public_code: false } }),
  twin: async (scene) => {
    scene.twin ??= await scene.world.further(scene.own, 'twin')
  },
  revokeTwin: async (scene) => {
    const { twin, own } = scene
    if (twin === null) return
    scene.twin = null
    await own.revoke(twin.deviceId)
  },
  minutes: async ({ world }, { pick }) => world.later(1 + (pick % 3)),
  hour: async ({ world }) => world.later(61),
  settle: async ({ own }) => {
    await own.device().sync.run('timer')
    await own.device().sync.run('timer')
  },
  sync: (_, { by }) => by.device().sync.run('timer'),
  fullSync: (_, { by }) => by.device().sync.run('request'),
}

const KINDS = Object.keys(DEEDS)
const plans = fc.array(
  fc.record({
    deed: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...KINDS) },
      { weight: 2, arbitrary: fc.constantFrom('settle', 'sync', 'approve', 'connect') },
    ),
    by: fc.constantFrom('own', 'twin', 'second', 'second', 'third'),
    other: fc.nat(2),
    pick: fc.nat(5),
  }),
  { minLength: 1, maxLength: 40 },
)
type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never

function turnOf(scene: Scene, { by, other, pick }: Plan[number]): Turn {
  const { own, people, twin } = scene
  const all = { own, twin: twin ?? own, second: people[1]!, third: people[2]! }
  return { by: all[by], other: people[other]!, pick }
}

/** The rows that each sync writes, by table: their column and its values. */
const OF_EACH_SYNC: Readonly<Record<string, readonly [column: string, values: RegExp]>> = {
  meta: ['key', /^(last_sync|last_good_sync|clock_.*)$/],
  events: ['type', /^sync\./],
}

function isOfEachSync(table: string, row: Readonly<Record<string, unknown>>): boolean {
  const [column = '', values] = OF_EACH_SYNC[table] ?? []
  return values?.test(String(row[column])) === true
}

/** Returns all rows of a device's database. */
function rowsOf({ db }: State): Readonly<Record<string, readonly string[]>> {
  const tables = db
    .prepare(`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`)
    .all() as { name: string }[]
  return Object.fromEntries(
    tables.map(({ name }) => [
      name,
      db
        .prepare(`select * from "${name}"`)
        .all()
        .filter((row) => !isOfEachSync(name, row))
        .map((row) => JSON.stringify(row))
        .toSorted(),
    ]),
  )
}

/** How many syncs read nothing, some and all parts, for the report of the test. */
const seen = { idle: 0, some: 0, whole: 0 }

const counting = instead('changes', 'read', (honest) => async (input) => {
  const answer = await honest(input)
  const { length } = answer.changed
  seen[length === 0 ? 'idle' : length === 6 ? 'whole' : 'some'] += 1
  return answer
})

/** Syncs a device as its timer does, until a sync changes nothing. */
async function rest(user: DeviceUser): Promise<readonly [object, string | null]> {
  let before = rowsOf(user.state)
  for (let round = 0; ; round++) {
    const { error } = await user.device().sync.run('timer')
    const after = rowsOf(user.state)
    if (round >= MOST_ROUNDS || JSON.stringify(after) === JSON.stringify(before))
      return [after, error]
    before = after
  }
}

async function history(t: TestContext, plan: Plan, url: string | null): Promise<void> {
  const world = await newWorld(t, {}, url)
  const [ada, second, third] = [
    await world.person('ada'),
    await world.person('bob'),
    await world.person('cy'),
  ]
  const own = ada.restart(counting)
  const people = [own, second, third] as const
  const scene: Scene = { world, own, people, twin: await world.further(own, 'twin') }
  for (const [first, ...others] of [people, people.toReversed()])
    await joinMembers(first!, await first!.connect(), others)
  await own.device().sync.run('timer')
  world.later(61)
  await own.device().sync.run('timer')
  for (const step of plan)
    try {
      await DEEDS[step.deed]!(scene, turnOf(scene, step))
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'internal') throw error
    }
  const conditional = await rest(own)
  const { error } = await own.device().sync.run('request')
  assert.deepEqual([rowsOf(own.state), error], conditional)
}

function suite(name: string, runs: number, place: () => Promise<string | null>): void {
  it(`${name}: ${runs} histories`, { timeout: runs * 60_000 + 60_000 }, async (t) => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => history(t, plan, await place())),
      {
        numRuns: runs,
        ...(SEED === undefined ? {} : { seed: Number(SEED) }),
        ...(PATH === undefined ? {} : { path: PATH }),
        interruptAfterTimeLimit: runs * 60_000,
        markInterruptAsFailure: true,
      },
    )
    t.diagnostic(JSON.stringify(seen))
  })
}

describe('a device that asks only what changed has the state of one that reads everything', () => {
  suite('SQLite', RUNS, async () => null)
  describe('PostgreSQL', { skip: withoutPostgres }, () => {
    suite('PostgreSQL', Math.ceil(RUNS / 3), newDatabase)
  })
})

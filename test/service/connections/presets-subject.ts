/** What the suites of presets do. */
import type { Preset } from '../../../src/api/rest/presets.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { Clubs } from './connections-subject.ts'
import { enrol, opening, type Person } from '../person.ts'

/** An id that no preset has. */
export const NOBODYS = newId('pre_', 0)

export type Wanted = Parameters<Person['account']['presets']['create']>[0]['body']
type Opened = Parameters<Person['account']['rosters']['open']>[0]['body']

/** Make a preset, called "Family" unless told. */
export const create = (by: Person, more: Partial<Wanted> = {}): Promise<Preset> =>
  by.account.presets.create({ body: { name: 'Family', ...more } })

/** Make a tag with a name of its own; answers its id. */
export const newTag = async ({ account }: Person): Promise<string> =>
  (await account.tags.create({ body: { name: newId('', Date.now()) } })).id

/** Somebody without presets, whose session does not end with the clock. */
export const newcomer = async ({ server, inside }: Clubs): Promise<Person> =>
  inside(await enrol(server))

/** Open a connection. */
export const open = async (by: Person, more: Partial<Pick<Opened, 'preset_id' | 'invite'>> = {}) =>
  by.account.rosters.open({ body: { ...(await opening(by, 'Bank')), ...more } })

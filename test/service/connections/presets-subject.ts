/** Shared helpers of the suites of presets. */
import type { Preset } from '../../../src/api/rest/presets.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { Clubs } from './connections-subject.ts'
import { enrol, opening, type Person } from '../person.ts'

/** An id that no preset has. */
export const NOBODYS = newId('pre_', 0)

export type Wanted = Parameters<Person['account']['presets']['create']>[0]['body']
type Opened = Parameters<Person['account']['rosters']['open']>[0]['body']

/** Creates a preset, named "Family" by default. */
export const create = (by: Person, more: Partial<Wanted> = {}): Promise<Preset> =>
  by.account.presets.create({ body: { name: 'Family', ...more } })

/** Creates a tag with a unique name and returns its id. */
export const newTag = async ({ account }: Person): Promise<string> =>
  (await account.tags.create({ body: { name: newId('', Date.now()) } })).id

/** Enrols a person without presets, with a session that the clock does not end. */
export const newcomer = async ({ server, inside }: Clubs): Promise<Person> =>
  inside(await enrol(server))

/** Opens a connection. */
export const open = async (by: Person, more: Partial<Pick<Opened, 'preset_id' | 'invite'>> = {}) =>
  by.account.rosters.open({ body: { ...(await opening(by, 'Bank')), ...more } })

/**
 * What exists in a state folder according to its events, compared with its tables and with the
 * writes that the daemon acknowledged.
 */
import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import type { ShownEvent } from '../../src/state/events.ts'
import type { Ledger, Thing } from './ledger.ts'
import { asked } from './whole.ts'

type Data = Readonly<Record<string, string>>

const newEffects = () => ({
  /** The names of connections, and the state of each token and guest code. */
  connections: new Map<string, string>(),
  tokens: new Map<string, string>(),
  guests: new Map<string, string>(),
  ready: new Map<string, string>(),
  stamps: new Map<string, string>(),
  verifications: new Map<string, string>(),
})
type Effects = ReturnType<typeof newEffects>

/** Adds something that must not be there yet. */
function add(things: Map<string, string>, id: string | undefined, value = ''): void {
  assert(id !== undefined && !things.has(id), `${id} has two events`)
  things.set(id, value)
}

/** Replaces a value, which must be another one. */
function replace(
  things: Map<string, string>,
  id: string | undefined,
  [before, after]: readonly [before: string | undefined, after: string | undefined],
): void {
  assert(id !== undefined && after !== undefined)
  assert.equal(things.get(id), before, `${id} before it was ${after}`)
  things.set(id, after)
}

const EFFECTS: Readonly<Record<string, (of: Effects, data: Data) => void>> = {
  'connection.added': ({ connections }, { connection_id: id, name }) => add(connections, id, name),
  'connection.renamed': ({ connections }, { connection_id: id, name, previous_name }) =>
    replace(connections, id, [previous_name, name]),
  'connection.ready': ({ ready }, { connection_id: id }) => add(ready, id),
  'connection.removed'({ connections, ready }, { connection_id: id, name }) {
    assert.equal(connections.get(String(id)), name)
    connections.delete(String(id))
    ready.delete(String(id))
  },
  'token.created': ({ tokens }, { token_id: id }) => add(tokens, id, 'active'),
  'token.revoked': ({ tokens }, { token_id: id }) => replace(tokens, id, ['active', 'revoked']),
  'guest_code.created': ({ guests }, { guest_code_id: id }) => add(guests, id, 'active'),
  'guest_code.revoked': ({ guests }, { guest_code_id: id }) =>
    replace(guests, id, ['active', 'revoked']),
  'stamp.created': ({ stamps }, { stamp_id: id }) => add(stamps, id),
  'verification.made': ({ verifications }, { verification_id: id }) => add(verifications, id),
}

/** What the tables contain, in the form of the effects. */
const ROWS: Readonly<Record<keyof Effects, string>> = {
  connections: 'select id, name from connections',
  tokens: `select id, iif(revoked_at is null, 'active', 'revoked') from tokens`,
  guests: 'select id, state from guests',
  ready: `select id, '' from connections where id in (select id from secrets)`,
  // A stamp that is not final has no event yet.
  stamps: `select id, '' from stamps where 'unfinished ' || id not in (select key from meta)`,
  verifications: `select id, '' from verifications`,
}

const sorted = (pairs: Iterable<readonly string[]>) => [...pairs].map(String).toSorted()

function requireRows(db: DatabaseSync, effects: Effects): void {
  for (const [kind, sql] of Object.entries(ROWS) as [keyof Effects, string][]) {
    const rows = db.prepare(sql).all() as Record<string, string>[]
    assert.deepEqual(sorted(rows.map((row) => Object.values(row))), sorted(effects[kind]), kind)
  }
}

/** Checks that a thing has the events of the writes that were answered. */
function requireThing({ id, fate }: Thing, found: string | undefined, ended?: string): void {
  if (fate === 'there') assert(found !== undefined && found !== ended, `${id}: no event`)
  else if (fate === 'gone') assert.equal(found, ended, `${id}: no event of its end`)
}

/** Creates the comparison for one folder. */
export function newEventEffects(dir: string) {
  const effects = newEffects()
  const path = join(dir, 'state.db')
  return {
    /** Adds new events, which must be possible after the ones before. */
    add(events: readonly ShownEvent[]): void {
      for (const { type, data } of events) EFFECTS[type]?.(effects, data as Data)
    },
    /** Requires that the tables contain what the events report, and nothing else. */
    requireTables: () => asked(path, (db) => requireRows(db, effects)),
    /** Requires that each write that was answered has its event. */
    requireAcknowledged({ things, stamps, verifications, keyed }: Ledger): void {
      for (const one of things.tokens) requireThing(one, effects.tokens.get(one.id), 'revoked')
      for (const one of things.guests) requireThing(one, effects.guests.get(one.id), 'revoked')
      for (const one of things.connections) {
        const name = effects.connections.get(one.id)
        requireThing(one, name)
        if (name !== undefined) assert(one.names.includes(name), `${one.id} has the name ${name}`)
      }
      for (const id of keyed.values()) if (id !== null) assert(effects.connections.has(id), id)
      for (const { answer } of stamps) assert(effects.stamps.has(answer.id), answer.id)
      const checked = asked(path, (db) => db.prepare('select id, at from verifications').all())
      const idAt = new Map(checked.map(({ id, at }) => [at, String(id)]))
      for (const { answer } of verifications)
        assert(effects.verifications.has(idAt.get(answer.checked_at) ?? ''), answer.checked_at)
    },
  }
}

/**
 * The peer of the account's routes: fastify, with the same answers from prepared statements of
 * better-sqlite3. Its database is a copy of the daemon's, with the same settings. It checks the
 * token and the body, and has no other part of the daemon: no audit log, no names of contacts, no
 * second process that may use the database.
 *
 *   node bench/peer.ts PORT DATABASE TOKEN ACCOUNT
 */
import { hash } from 'node:crypto'
import Database from 'better-sqlite3'
import { fastify } from 'fastify'
import { timeAt } from '../src/api/fields.ts'
import { newId } from '../src/crypto/encoding/id.ts'

const [port = '', file = '', token = '', account = ''] = process.argv.slice(2)
const MOST_TAGS = 200

const db = new Database(file)
db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on')
db.exec('pragma foreign_keys = on; pragma wal_autocheckpoint = 256')

const text = { type: 'string' }
const nullable = { type: ['string', 'null'] }
const texts = { type: 'array', items: text }
const objectOf = (properties: object) => ({ type: 'object', properties })
const MEMBER = objectOf({
  id: text,
  user_id: nullable,
  display_name: text,
  name_source: text,
  name_marks: texts,
  role: text,
  state: text,
})
const CONNECTION = objectOf({
  id: text,
  name: text,
  kind: text,
  state: text,
  favorite: { type: 'boolean' },
  tag_ids: texts,
  members: { type: 'array', items: MEMBER },
  preset_id: nullable,
  replaces: nullable,
  replaced_by: nullable,
  suspended: { type: ['object', 'null'] },
  epoch: { type: 'integer' },
  secret_here: { type: 'boolean' },
  created_at: text,
  updated_at: text,
})
const PAGE = objectOf({ items: { type: 'array', items: CONNECTION }, next_cursor: nullable })
const TAG = objectOf({
  id: text,
  name: text,
  color: nullable,
  connection_count: { type: 'integer' },
  created_at: text,
})
const NEW_TAG = {
  ...objectOf({ name: { type: 'string', minLength: 1, maxLength: 60 }, color: nullable }),
  required: ['name'],
  additionalProperties: false,
}

const SEEN = `select id, replaces, name, favorite, preset_id, epoch, ended_at, created_at, updated_at
  from memberships as own join connections on connections.id = own.connection_id
  left join replacements on replacements.connection_id = own.connection_id
  where own.account_id = ?`
const LISTED = '(select value from json_each(?))'
const OPEN = `((state = 'pending' and expires_at > ?) or (consent = 1 and expires_at > ?))`
const one = db.prepare(`${SEEN} and id = ?`)
const page = db.prepare(`${SEEN} order by own.connection_id desc limit ?`)
const members = db.prepare(
  `select connection_id, account_id, display_name, role from memberships
     join accounts on accounts.id = account_id
   where connection_id in ${LISTED} order by account_id`,
)
const invited = db.prepare(
  `select connection_id, invitations.id as id, to_account, to_email, display_name from invitations
     left join accounts on accounts.id = to_account
   where connection_id in ${LISTED} and ${OPEN} order by invitations.id`,
)
const assigned = db.prepare(
  `select connection_id, tag_id from tag_assignments
   where account_id = ? and connection_id in ${LISTED} order by tag_id`,
)
const sameName = db.prepare('select 1 from tags where account_id = ? and lower(name) = lower(?)')
const counted = db.prepare('select count(*) as n from tags where account_id = ?')
const insert = db.prepare(
  'insert into tags (id, account_id, name, color, created_at) values (?, ?, ?, ?, ?)',
)
const remove = db.prepare('delete from tags where id = ? and account_id = ?')

type Row = Readonly<Record<string, string | number | null>>
const grouped = (rows: unknown[]) => Map.groupBy(rows as Row[], (row) => row['connection_id'])

function resources(rows: readonly Row[]) {
  const ids = JSON.stringify(rows.map((row) => row['id']))
  const now = Date.now()
  const membersOf = grouped(members.all(ids))
  const invitedOf = grouped(invited.all(ids, now, now - 24 * 3_600_000))
  const tagsOf = grouped(assigned.all(account, ids))
  return rows.map((row) => {
    const id = row['id'] as string
    const active = (membersOf.get(id) ?? []).map((member) => ({
      id: member['account_id'],
      user_id: member['account_id'],
      display_name: member['display_name'],
      name_source: member['account_id'] === account ? 'own' : 'server',
      name_marks: [],
      role: member['role'],
      state: 'active',
    }))
    const others = (invitedOf.get(id) ?? []).map((other) => ({
      id: other['to_account'] ?? other['id'],
      user_id: other['to_account'],
      display_name: other['display_name'] ?? other['to_email'],
      name_source: 'server',
      name_marks: [],
      role: 'member',
      state: 'invited',
    }))
    const all = [...active, ...others]
    return {
      id,
      name: row['name'],
      kind: all.length > 2 ? 'group' : 'direct',
      state: row['ended_at'] !== null ? 'ended' : active.length < 2 ? 'pending' : 'active',
      favorite: row['favorite'] === 1,
      tag_ids: (tagsOf.get(id) ?? []).map((tag) => tag['tag_id']),
      members: all,
      preset_id: row['preset_id'],
      replaces: row['replaces'],
      replaced_by: null,
      suspended: null,
      epoch: row['epoch'],
      secret_here: true,
      created_at: timeAt(row['created_at'] as number),
      updated_at: timeAt(row['updated_at'] as number),
    }
  })
}

/** Inserts a tag in a transaction, as the daemon does. Returns null if there is no room for it. */
function newTag(name: string, color: string | null) {
  const at = Date.now()
  const id = newId('tag_', at)
  db.exec('begin immediate')
  const { n } = counted.get(account) as { n: number }
  const hasRoom = n < MOST_TAGS && sameName.get(account, name) === undefined
  if (hasRoom) insert.run(id, account, name, color, at)
  db.exec('commit')
  return hasRoom ? { id, name, color, connection_count: 0, created_at: timeAt(at) } : null
}

const tokens = new Map([[hash('sha256', token), account]])
const app = fastify()
app.addHook('onRequest', (request, reply, done) => {
  const given = request.headers.authorization?.slice('Bearer '.length) ?? ''
  if (tokens.has(hash('sha256', given))) done()
  else void reply.code(401).send({ error: 'invalid_token' })
})
app.get<{ Params: { id: string } }>(
  '/api/v1/connections/:id',
  { schema: { response: { 200: CONNECTION } } },
  ({ params }, reply) => {
    const [connection] = resources(one.all(account, params.id) as Row[])
    if (connection === undefined) void reply.code(404).send({ error: 'not_found' })
    else void reply.send(connection)
  },
)
app.get<{ Querystring: { limit: number } }>(
  '/api/v1/connections',
  {
    schema: {
      querystring: objectOf({ limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 } }),
      response: { 200: PAGE },
    },
  },
  ({ query: { limit } }, reply) => {
    const rows = page.all(account, limit + 1) as Row[]
    const last = rows.length > limit ? (rows[limit - 1]?.['id'] as string) : null
    const next_cursor = last === null ? null : Buffer.from(last).toString('base64url')
    void reply.send({ items: resources(rows.slice(0, limit)), next_cursor })
  },
)
app.post<{ Body: { name: string; color?: string | null } }>(
  '/api/v1/tags',
  { schema: { body: NEW_TAG, response: { 201: TAG } } },
  ({ body: { name, color = null } }, reply) => {
    const tag = newTag(name, color)
    if (tag === null) void reply.code(409).send({ error: 'conflict' })
    else void reply.code(201).send(tag)
  },
)
app.delete<{ Params: { id: string } }>('/api/v1/tags/:id', ({ params }, reply) => {
  remove.run(params.id, account)
  void reply.code(204).send()
})

await app.listen({ host: '127.0.0.1', port: Number(port) })
process.stdout.write('listening\n')

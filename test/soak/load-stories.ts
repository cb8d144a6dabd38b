/** The requests of a crowd’s persons, and checks that each answer belongs to its person. */
import assert from 'node:assert/strict'
import encodeQR from 'qr'
import { linkOf, minuteOf, wordsFrom } from '../e2e/peer.ts'
import type { Person, Story } from './load-person.ts'

const WORDS = /^[a-z]+ [a-z]+ [a-z]+$/

const health: Story = async ({ ask, check }) => {
  const { status } = await ask('health', 'GET /health')
  check(() => assert.equal(status, 'ok'))
}

const head: Story = async ({ ask, check }) => {
  const body = await ask('head', 'HEAD /health', { bodiless: true })
  check(() => assert.equal(body, ''))
}

const status: Story = async ({ ask, check, size }) => {
  const answer = await ask('status', 'GET /api/v1/status')
  check(() => assert.deepEqual([answer.authenticated, answer.cached_connections], [true, size]))
}

/**
 * Checks that words belong to one connection and one minute, for each caller and each request.
 */
const code = async ({ ask, check, connection, known: { words } }: Person): Promise<string> => {
  const answer = await ask('code', `GET /api/v1/connections/${connection}/code`)
  check(() => {
    assert.equal(answer.connection_id, connection)
    assert.match(answer.words, WORDS)
    const mine = `${connection} ${answer.valid_from}`
    const subject = `${answer.words} ${answer.valid_from}`
    assert.equal(answer.words, words.get(mine) ?? answer.words)
    assert.equal(connection, words.get(subject) ?? connection)
    words.set(mine, answer.words).set(subject, connection)
  })
  return answer.words
}

const read: Story = async ({ ask, check, connection, name }) => {
  const answer = await ask('connection', `GET /api/v1/connections/${connection}`)
  check(() =>
    assert.deepEqual([answer.id, answer.name, answer.secret_here], [connection, name, true]),
  )
}

const rename: Story = async (person) => {
  const { ask, check, connection, number } = person
  const name = `lane ${number} v${person.next()}`
  const answer = await ask('rename', `PATCH /api/v1/connections/${connection}`, { body: { name } })
  person.name = name
  check(() => assert.deepEqual([answer.id, answer.name], [connection, name]))
  await read(person)
}

const echo: Story = async (person) => {
  const { ask, check, connection } = person
  const answer = await ask('verify', 'POST /api/v1/verify', { body: { words: await code(person) } })
  check(() => {
    const [match] = answer.matches
    assert.deepEqual([answer.verified, answer.echo, answer.matches.length], [false, true, 1])
    assert.deepEqual([match.speaker, match.connection_id], ['self', connection])
  })
}

const guess: Story = async (person) => {
  if (!person.known.mayGuess()) return status(person)
  const body = { words: 'matador carload recede' }
  const answer = await person.ask('guess', 'POST /api/v1/verify', { body })
  return person.check(() => assert.deepEqual([answer.verified, answer.matches], [false, []]))
}

const guest: Story = async ({ ask, check, known, number, next }) => {
  const label = `guest ${number} ${next()}`
  const made = await ask('guest code', 'POST /api/v1/guest-codes', { body: { label }, want: '201' })
  const { id, k } = linkOf(made.url)
  const window = minuteOf(made.code.valid_from)
  const wordsOf = (speaker: string) =>
    wordsFrom({ label: 'guest', k, subject: id, speaker, window })
  check(() => {
    assert.deepEqual([made.id, made.label, made.state], [id, label, 'active'])
    assert.equal(made.code.words, wordsOf(known.account))
  })
  for (const isFirst of [true, false]) {
    const answer = await ask('verify', 'POST /api/v1/verify', { body: { words: wordsOf(id) } })
    check(() => {
      const [match] = answer.matches
      assert.deepEqual([answer.verified, answer.replayed], [isFirst, !isFirst])
      assert.deepEqual(
        [answer.matches.length, match.guest_code_id, match.display_name],
        [1, id, label],
      )
    })
  }
  const svg = await ask('qr', `GET /api/v1/guest-codes/${id}/qr`)
  check(() => assert.equal(svg, encodeQR(made.url, 'svg')))
  await ask('revoke a guest', `DELETE /api/v1/guest-codes/${id}`, { want: '204' })
  await ask('qr of one revoked', `GET /api/v1/guest-codes/${id}/qr`, { want: '409 invalid_state' })
}

/** An account has 200 tags at most, so only some persons leave theirs, and only some of them. */
const KEEPERS = 40
const KEPT_TAGS = 2

const tag: Story = async ({ ask, check, connection, tags, number, next }) => {
  const name = `tag ${number} ${next()}`
  const made = await ask('tag', 'POST /api/v1/tags', { body: { name }, want: '201' })
  const at = `/api/v1/tags/${made.id}`
  check(() => assert.deepEqual([made.name, made.color], [name, null]))
  const body = { color: '#2453b8' }
  const painted = await ask('paint a tag', `PATCH ${at}`, { body })
  check(() =>
    assert.deepEqual([painted.id, painted.name, painted.color], [made.id, name, '#2453b8']),
  )
  const assigned = await ask('assign a tag', `POST ${at}/assign/${connection}`)
  tags.push(made.id)
  check(() => {
    assert.equal(assigned.id, connection)
    assert.deepEqual(assigned.tag_ids.toSorted(), tags.toSorted())
  })
  if (tags.length <= (number < KEEPERS ? KEPT_TAGS : 0)) return
  const gone = tags.shift() as string
  await ask('delete a tag', `DELETE /api/v1/tags/${gone}`, { want: '204' })
  await ask('delete it again', `DELETE /api/v1/tags/${gone}`, { want: '404 not_found' })
}

/** Replaces the token by a new one; the old one is invalid from then on. */
const turnToken: Story = async (person) => {
  const { ask, check, number } = person
  const name = `token ${number} ${person.next()}`
  const body = { name, scope: 'read' }
  const made = await ask('token', 'POST /api/v1/token', { body, want: '201' })
  check(() => assert.deepEqual([made.name, made.scope], [name, 'read']))
  const { token } = made
  const path = `GET /api/v1/connections/${person.connection}`
  const answer = await ask('connection', path, { token })
  check(() => assert.equal(answer.id, person.connection))
  const refused = { body: { name: 'x' }, token, want: '403 insufficient_scope' }
  await ask('write with a token to read', 'POST /api/v1/tags', refused)
  await ask('revoke a token', `DELETE /api/v1/api-tokens/${made.id}`, { want: '204' })
  await ask('a token revoked', path, { token, want: '401 invalid_token' })
}

/** Reads two pages of the resources that all persons share. */
const list: Story = async ({ ask, check, size, known: { owners }, number }) => {
  const limit = 1 + (number % 20)
  const path = `GET /api/v1/connections?limit=${limit}`
  const first = await ask('connections', path)
  const second =
    first.next_cursor === null
      ? { items: [] }
      : await ask('connections', `${path}&cursor=${first.next_cursor}`)
  check(() => {
    const items = [...first.items, ...second.items]
    assert.equal(items.length, Math.min(2 * limit, size))
    assert.equal(new Set(items.map(({ id }) => id)).size, items.length)
    for (const { id, name } of items)
      assert.match(name, new RegExp(`^lane ${owners.get(id)}( v|$)`))
  })
}

const listOf =
  (kind: string, path: string, names: RegExp): Story =>
  async ({ ask, check, number }) => {
    const limit = 1 + (number % 20)
    const { items } = await ask(kind, `GET ${path}?limit=${limit}`)
    check(() => {
      assert(items.length <= limit)
      for (const { name, label } of items) assert.match(name ?? label, names)
    })
  }

const tags = listOf('tags', '/api/v1/tags', /^tag (\d+|slow) \d+$/)
const guests = listOf('guest codes', '/api/v1/guest-codes', /^guest \d+ \d+$/)
const tokens = listOf('tokens', '/api/v1/api-tokens', /^token \d+( \d+)?$/)

const mistakes: Story = async ({ ask, check, next }) => {
  const words = { body: { words: 'matador carload' }, want: '422 word_count' }
  const { found } = await ask('two words', 'POST /api/v1/verify', words)
  check(() => assert.equal(found, 2))
  const path = `/api/v1/nothing-${next()}`
  const { message } = await ask('no route', `GET ${path}`, { want: '404 no_such_route' })
  check(() => assert(message.includes(path)))
}

const MIX: readonly (readonly [story: Story, share: number])[] = [
  [health, 8],
  [head, 1],
  [status, 6],
  [code, 12],
  [read, 6],
  [echo, 4],
  [guess, 1],
  [list, 3],
  [tags, 2],
  [guests, 2],
  [tokens, 1],
  [rename, 1],
  [tag, 2],
  [guest, 1],
  [turnToken, 1],
  [mistakes, 1],
]

/** Each story in proportion to its share, spread evenly. */
export const STORIES: readonly Story[] = MIX.flatMap(([story, share]) =>
  Array.from({ length: share }, (_, i) => [story, (i + 0.5) / share] as const),
)
  .toSorted(([, a], [, b]) => a - b)
  .map(([story]) => story)

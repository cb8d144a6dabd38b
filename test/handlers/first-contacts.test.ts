/** Tests first contact by four words over HTTP: what is shown once, and what is never stored. */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startAccountServer } from '../account-server.ts'
import { startDaemon } from '../daemon.ts'
import type { Json } from '../e2e/caller.ts'
import { signIn } from './people.ts'

test('four words are made and typed over HTTP; one answer contains them, and no file', async (t) => {
  const server = await startAccountServer(t)
  const daemons = []
  for (const name of ['ada', 'bob']) {
    const daemon = await startDaemon({ SVC_BACKEND_URL: server.address })
    t.after(() => daemon.close())
    await signIn(daemon, server, `${name}@example.org`)
    daemons.push({ daemon, token: await daemon.token('write') })
  }
  const [ada, bob] = daemons as [(typeof daemons)[number], (typeof daemons)[number]]
  const asked = async (
    { daemon, token }: typeof ada,
    method: string,
    path: string,
    of: { body?: object; headers?: Record<string, string> } = {},
  ) => {
    const response = await fetch(`${daemon.address}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(of.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...of.headers,
      },
      ...(of.body === undefined ? {} : { body: JSON.stringify(of.body) }),
    })
    return { status: response.status, json: (await response.json()) as Json }
  }

  const body = { name: 'Bank', invite: [{ email: 'bob@example.org' }], words: true }
  const headers = { 'Idempotency-Key': 'four-words-1' }
  const made = await asked(ada, 'POST', '/api/v1/connections', { body, headers })
  assert.equal(made.status, 201, JSON.stringify(made.json))
  const [{ words, invitation_id: id, to }] = made.json.words
  assert.equal(to, 'bob@example.org')
  const again = await asked(ada, 'POST', '/api/v1/connections', { body, headers })
  assert.deepEqual([again.status, again.json.id], [201, made.json.id])
  assert(!('words' in again.json), 'a repetition does not show them')

  const spoken = words.split(' ') as string[]
  const verified = await asked(bob, 'POST', '/api/v1/verify', { body: { words } })
  assert.deepEqual([verified.status, verified.json.error], [422, 'word_count'])
  const few = { words: spoken.slice(1).join(' ') }
  const approve = `/api/v1/invitations/${id}/approve`
  const slip = await asked(bob, 'POST', approve, { body: few })
  assert.deepEqual([slip.status, slip.json.error, slip.json.found], [422, 'word_count', 3])
  for (const [tool, args] of [
    ['invitations_approve', { id, words }],
    ['connections_create', { name: 'Bank', words: true }],
  ] as const) {
    const called = await asked(bob, 'POST', `/tools/${tool}`, { body: args })
    assert.deepEqual([called.status, called.json.error], [422, 'validation_failed'], tool)
    assert.equal(called.json.issues[0].path, 'words')
  }

  const approved = await asked(bob, 'POST', approve, {
    body: { words },
    headers: { 'Idempotency-Key': 'four-words-2' },
  })
  assert.deepEqual([approved.status, approved.json.state], [200, 'approved'])
  const ofBob = await asked(bob, 'GET', '/api/v1/trust-cards')
  assert.equal(ofBob.json.items[0].key_status, 'confirmed')
  const listed = await asked(bob, 'GET', '/api/v1/first-contacts')
  assert.deepEqual(
    listed.json.items.map((one: Json) => [one.role, one.state]),
    [['invitee', 'confirmed']],
  )
  for (const { daemon } of [ada, bob])
    for (const file of readdirSync(daemon.stateDir, { recursive: true, encoding: 'utf8' })) {
      if (!/\.(db|db-wal|jsonl)$/.test(file)) continue
      const bytes = readFileSync(join(daemon.stateDir, file)).toString('latin1')
      assert(!bytes.includes(words), file)
    }
})

test('four words need an invitee', async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const response = await fetch(`${daemon.address}/api/v1/connections`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${await daemon.token('write')}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ name: 'Bank', words: true }),
  })
  assert.equal(response.status, 422)
  const list = await fetch(`${daemon.address}/api/v1/connections`, {
    headers: { Authorization: `Bearer ${await daemon.token('read')}` },
  })
  assert.deepEqual(((await list.json()) as { items: unknown[] }).items, [], 'nothing was made')
})

/** A model that names things as its user does, over the protocol. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startDaemon } from '../daemon.ts'
import { connected, overHttp } from './connected.ts'

it('a model gives names; an ambiguous one is an error with the ids, and an id is accepted', async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const client = await connected(
    t,
    overHttp(daemon.address, '/api/v1/mcp', await daemon.token('write')),
  )
  const call = async (name: string, args: Record<string, unknown>) => {
    const { isError = false, structuredContent } = await client.callTool({ name, arguments: args })
    return { isError, result: structuredContent as Readonly<Record<string, unknown>> }
  }
  const idOf = async (label: string) =>
    (await call('guest_codes_create', { label })).result['id'] as string
  const bank = await idOf('Bank')
  const mum = await idOf('Mum')
  const one = await call('verify_words', { words: 'matador carload recede', expect: 'mum' })
  assert.deepEqual([one.isError, one.result['checked']], [false, 1])

  const other = await idOf('MUM')
  const { isError, result } = await call('guest_codes_delete', { id: 'mum' })
  assert.deepEqual(
    [isError, result['error'], result['state']],
    [true, 'conflict', 'ambiguous_name'],
  )
  for (const id of [mum, other]) assert(String(result['message']).includes(id))
  const active = async () => {
    const { items } = (await call('guest_codes_list', { state: 'active' })).result
    return (items as { id: string }[]).map(({ id }) => id)
  }
  assert.deepEqual(await active(), [other, mum, bank])

  assert.deepEqual(await call('guest_codes_delete', { id: other }), { isError: false, result: {} })
  assert.deepEqual(await call('guest_codes_delete', { id: ' Mum ' }), {
    isError: false,
    result: {},
  })
  assert.deepEqual(await active(), [bank])
})

/** Tests the memory that bodies of requests may occupy while they are received. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { newBodyMemory } from '../../src/http/body-memory.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { hostOf } from './raw.ts'

const MIB = 1024 * 1024
/** More uploads than fit into 64 MiB if each occupies 1 MiB. */
const UPLOADS = 66

describe('the memory for bodies in transfer', () => {
  let daemon: TestDaemon
  before(async () => (daemon = await startDaemon()))
  after(() => daemon.close())

  it('drops the body without progress for the longest time, with 408, and keeps the others', async () => {
    const { port } = new URL(daemon.address)
    const head = `POST /api/v1/token HTTP/1.1\r\nHost: ${hostOf(daemon.address)}\r\nContent-Type: application/json\r\nContent-Length: ${MIB}\r\n\r\n`
    const sockets: Socket[] = []
    const answers: Promise<string>[] = []
    for (let i = 0; i < UPLOADS; i++) {
      const socket = connect(Number(port), '127.0.0.1')
      sockets.push(socket)
      socket.on('error', () => undefined)
      answers.push(once(socket, 'data').then(([bytes]) => String(bytes)))
      await new Promise((resolve) => socket.write(head + ' '.repeat(MIB - 2), resolve))
    }
    assert.match(await Promise.race(answers), /^HTTP\/1.1 408 .*"error":"request_timeout"/s)
    for (const socket of sockets) socket.write('{}')
    const statuses = (await Promise.all(answers)).map((answer) => answer.slice(9, 12))
    const taken = statuses.filter((status) => status === '422').length
    assert(taken >= 60, `${taken} of ${UPLOADS} bodies were received`)
    assert.equal(statuses.filter((status) => status === '408').length, UPLOADS - taken)
    for (const socket of sockets) socket.destroy()
  })

  it('of one token is not used by bodies of another', async () => {
    const [small, large] = [await daemon.token('read'), await daemon.token('read')]
    const { port } = new URL(daemon.address)
    const sockets: Socket[] = []
    const begin = async (token: string) => {
      const socket = connect(Number(port), '127.0.0.1')
      sockets.push(socket)
      socket.on('error', () => undefined)
      const answer = once(socket, 'data').then(([bytes]) => String(bytes))
      const head = `POST /tools/status_read HTTP/1.1\r\nHost: ${hostOf(daemon.address)}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${MIB}\r\n\r\n`
      await new Promise((resolve) => socket.write(head + ' '.repeat(MIB - 2), resolve))
      return { socket, answer }
    }
    const first = await begin(small)
    const others = []
    for (let i = 0; i < UPLOADS; i++) others.push((await begin(large)).answer)
    assert.match(await Promise.race([first.answer, ...others]), /^HTTP\/1.1 408 /)
    first.socket.write('{}')
    assert.match(await first.answer, /^HTTP\/1.1 200 /)
    for (const socket of sockets) socket.destroy()
  })

  it('is one buffer for each body, however small the chunks are', () => {
    const memory = newBodyMemory()
    const body = memory({ owner: '', limit: MIB }, () => assert.fail('dropped'))
    const text = Buffer.from('0123456789'.repeat(1000))
    for (const byte of text) body.append(Buffer.of(byte))
    const bytes = body.finish()
    assert.deepEqual(bytes, text)
    assert(bytes.buffer.byteLength <= 2 * text.length, `${bytes.buffer.byteLength} bytes`)
  })

  it('is free again after the release of a body', () => {
    const memory = newBodyMemory()
    for (let i = 0; i < 100; i++) {
      const body = memory({ owner: '', limit: MIB }, () => assert.fail('dropped'))
      body.append(Buffer.alloc(MIB))
      body.finish()
      body.release()
    }
    const dropped: number[] = []
    for (let i = 0; i < 65; i++)
      memory({ owner: '', limit: MIB }, () => dropped.push(i)).append(Buffer.alloc(MIB))
    assert.deepEqual(dropped, [0])
  })

  it('is taken from the owner that uses the most', () => {
    const memory = newBodyMemory()
    const dropped: string[] = []
    const begin = (owner: string) => {
      const body = memory({ owner, limit: MIB }, () => dropped.push(owner))
      body.append(Buffer.alloc(MIB))
      return body
    }
    for (let i = 0; i < 4; i++) begin('small')
    for (let i = 0; i < 100; i++) begin('large')
    assert.deepEqual([...new Set(dropped)], ['large'])
    assert.equal(dropped.length, 40)
    begin('small')
    assert.deepEqual([...new Set(dropped)], ['large'])
  })

  it('is not taken from a body that makes progress', () => {
    const memory = newBodyMemory()
    const dropped: string[] = []
    const begin = (owner: string, size: number) =>
      memory({ owner, limit: size }, () => dropped.push(owner)).append(Buffer.alloc(size))
    begin('other', MIB)
    begin('only', 64 * MIB)
    assert.deepEqual(dropped, ['other'])
  })
})

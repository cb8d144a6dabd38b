/**
 * Clients beside a crowd that send little: idle ones, one that writes slowly, one that reads
 * slowly.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { type Crowd, bytesOf } from './load-crowd.ts'
import { type Lane, openLane } from './load-lane.ts'
import { repliesIn } from './wire.ts'

/**
 * Opens idle connections. Half of them sent one request; the others send nothing, and reconnect
 * when the server closes them.
 */
export async function idle(crowd: Crowd, count: number): Promise<{ end(): Promise<string> }> {
  const health = (lane: Lane) =>
    crowd
      .ask(lane, 'idle', 'GET /health', { want: '200' })
      .catch((error: unknown) => crowd.wrong('idle', error))
  const lanes = Array.from({ length: Math.ceil(count / 2) }, () => openLane(crowd.port))
  await Promise.all(lanes.map(health))

  const mute = new Set<Socket>()
  let [sentAway, isOver] = [0, false]
  async function saysNothing(): Promise<void> {
    const socket = connect({ host: '127.0.0.1', port: crowd.port })
    mute.add(socket)
    const received: Buffer[] = []
    socket.on('data', (chunk) => received.push(chunk)).on('error', () => undefined)
    socket.once('close', () => {
      mute.delete(socket)
      if (isOver) return
      sentAway++
      try {
        const statuses = repliesIn(Buffer.concat(received)).map(({ status }) => status)
        crowd.check(() => assert.deepEqual(statuses, [408]))
      } catch (error) {
        crowd.wrong('idle', error)
      }
      void saysNothing()
    })
    await once(socket, 'connect').catch(() => undefined)
  }
  await Promise.all(Array.from({ length: Math.floor(count / 2) }, saysNothing))

  return {
    async end() {
      const mutes = mute.size
      isOver = true
      for (const socket of mute) socket.destroy()
      await Promise.all(lanes.map(health))
      const same = lanes.filter((lane) => lane.opened() === 1).length
      for (const lane of lanes) lane.close()
      return `${lanes.length + mutes} idle at the end, ${same} of ${lanes.length} answered when they woke on the connection they had; ${sentAway} that said nothing were sent away and came again`
    },
  }
}

/**
 * Writes requests byte by byte, one after the other, until `over`; returns the number of answers.
 */
export async function writeSlowly(
  crowd: Crowd,
  { token, pace }: { readonly token: string; readonly pace: () => number },
  over: () => boolean,
): Promise<number> {
  const lane = openLane(crowd.port)
  let written = 0
  try {
    do {
      const body = { name: `tag slow ${written}` }
      const question = { token, body, want: '201', pace }
      const made = await crowd.ask(lane, 'slow writer', 'POST /api/v1/tags', question)
      crowd.check(() => assert.equal(made.name, body.name))
      const path = `DELETE /api/v1/tags/${made.id}`
      await crowd.ask(lane, 'slow writer, and away', path, { token, want: '204' })
      written++
    } while (!over())
  } catch (error) {
    crowd.wrong('slow writer', error)
  }
  lane.close()
  return written
}

/** More than the buffers of two sockets hold, so that the server must wait. */
const AT_ONCE = 40
const PATH = 'GET /api/v1/openapi.json'

async function readOnce(
  { port, check }: Crowd,
  { wanted, pace }: { readonly wanted: string; readonly pace: () => number },
): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port })
  const request = bytesOf(port, 'document', PATH)
  const last = request.toString().replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  socket.write(Buffer.concat([...Array<Buffer>(AT_ONCE - 1).fill(request), Buffer.from(last)]))
  const chunks: Buffer[] = []
  for await (const chunk of socket) {
    chunks.push(chunk as Buffer)
    await setTimeout(pace())
  }
  const replies = repliesIn(Buffer.concat(chunks))
  check(() => {
    assert.equal(replies.length, AT_ONCE)
    for (const { status, body } of replies) {
      assert.equal(status, 200)
      assert(body.equals(Buffer.from(wanted)), 'the document differs')
    }
  })
}

/**
 * Sends many requests at once and reads the answers slowly, repeatedly until `over`; returns the
 * number of answers.
 */
export async function readSlowly(
  crowd: Crowd,
  pace: () => number,
  over: () => boolean,
): Promise<number> {
  let answers = 0
  try {
    const lane = openLane(crowd.port)
    await crowd.ask(lane, 'document', PATH, { want: '200' })
    lane.close()
    const wanted = crowd.outcomes.given.get('document')?.body as string
    do {
      await readOnce(crowd, { wanted, pace })
      answers += AT_ONCE
    } while (!over())
  } catch (error) {
    crowd.wrong('slow reader', error)
  }
  return answers
}

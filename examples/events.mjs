/**
 * Prints the events of a daemon, one JSON object a line, until it is interrupted. Connects again if
 * the stream ends, after the last event that it printed.
 *
 *   node examples/events.mjs 'connection.*,verification.made'
 *
 * COUNTERSIGN_TOKEN: a token of scope read.
 * COUNTERSIGN_URL: the daemon's base URL, if it differs from the default.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const url = process.env['COUNTERSIGN_URL'] || 'http://127.0.0.1:19821'
const token = process.env['COUNTERSIGN_TOKEN']
const types = process.argv[2]
if (!token) {
  console.error('Set COUNTERSIGN_TOKEN to a token of scope read.')
  process.exit(2)
}

/** The id of the last event, with which the next connection continues. */
let last
/** The wait before the next connection, in milliseconds. The server can set it. */
let retry = 1000

/** Handles one event: the lines of a block of the stream. */
function handle(lines) {
  const fields = { data: '' }
  for (const line of lines) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line)
    fields[name] = value
  }
  if (fields.data !== '') console.log(fields.data)
  // Only now, so that an event comes again if this program ended before it was handled.
  if (fields.id !== undefined) last = fields.id
  if (fields.retry !== undefined) retry = Number(fields.retry)
}

/** Reads one connection to its end. */
async function read() {
  const query = types === undefined ? '' : `?types=${encodeURIComponent(types)}`
  const headers = { Authorization: `Bearer ${token}` }
  if (last !== undefined) headers['Last-Event-ID'] = last
  const response = await fetch(`${url}/api/v1/events${query}`, { headers })
  if (!response.ok) {
    const { message } = await response.json()
    const error = new Error(message)
    // A rejected token stays rejected. A daemon that shuts down or is busy answers later.
    error.isFinal = response.status < 500 && response.status !== 429
    throw error
  }
  let rest = ''
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) handle(block.split('\n'))
  }
}

for (;;) {
  try {
    await read()
  } catch (error) {
    console.error(error.message)
    if (error.isFinal) process.exit(1)
  }
  await sleep(retry)
}

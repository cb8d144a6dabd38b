/**
 * Bare node:http. With `answer` it reads a response (JSON on standard input: headers and body) and
 * sends it for every request; without, it sends "hello". It parses and validates the body of a
 * POST as the daemon does for `POST /api/v1/verify`. With the path of a new database, it also writes
 * each body to the disk before it answers. With `streams` it sends an event stream that does not
 * end, with a comment every 20 seconds.
 */
const { createServer } = require('node:http')

function newCheck() {
  const { safeParse } = require('valibot')
  const { body } = require('../src/api/rest/verify.ts').verify.words
  return (text) => safeParse(body, JSON.parse(text)).success
}

/** Returns a function that stores a text in a transaction, with the settings of `state.db`. */
function newStore(path) {
  const Database = require('better-sqlite3')
  const db = new Database(path)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  db.exec('create table if not exists bodies (id integer primary key, body text)')
  const insert = db.prepare('insert into bodies (body) values (?)')
  return (text) => void insert.run(text)
}

let check = null
const store = process.argv[4] === undefined ? () => undefined : newStore(process.argv[4])
// The connections of the client stay open while the other program is measured.
const start = (headers, body) =>
  createServer({ keepAliveTimeout: 65_000 }, (req, res) => {
    const answer = () => {
      res.writeHead(200, headers)
      res.end(body)
    }
    if (req.method !== 'POST') {
      answer()
      return
    }
    const chunks = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', () => {
      check ??= newCheck()
      const text = Buffer.concat(chunks).toString()
      if (!check(text)) {
        res.writeHead(422).end()
        return
      }
      store(text)
      answer()
    })
  }).listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('listening\n'))

if (process.argv[3] === 'streams') {
  const streams = new Set()
  setInterval(() => {
    for (const stream of streams) stream.write(':\n\n')
  }, 20_000)
  createServer((req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' })
    res.write(':\n\n')
    streams.add(res)
    res.once('close', () => streams.delete(res))
  }).listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('listening\n'))
} else if (process.argv[3] === 'answer') {
  let text = ''
  process.stdin.on('data', (chunk) => (text += chunk))
  process.stdin.on('end', () => {
    const { headers, body } = JSON.parse(text)
    start(headers, body)
  })
} else start(['Content-Type', 'text/plain', 'Content-Length', '5'], 'hello')

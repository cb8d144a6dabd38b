/**
 * Bare node:http. With `answer` it reads a response (JSON on standard input: headers and body) and
 * sends it for every request; without, it sends "hello". It parses and validates the body of a
 * POST as the daemon does for `POST /api/v1/verify`.
 */
const { createServer } = require('node:http')

function newCheck() {
  const { safeParse } = require('valibot')
  const { body } = require('../src/api/rest/verify.ts').verify.words
  return (text) => safeParse(body, JSON.parse(text)).success
}

let check = null
const start = (headers, body) =>
  createServer((req, res) => {
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
      if (check(Buffer.concat(chunks).toString())) answer()
      else res.writeHead(422).end()
    })
  }).listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('listening\n'))

if (process.argv[3] === 'answer') {
  let text = ''
  process.stdin.on('data', (chunk) => (text += chunk))
  process.stdin.on('end', () => {
    const { headers, body } = JSON.parse(text)
    start(headers, body)
  })
} else start(['Content-Type', 'text/plain', 'Content-Length', '5'], 'hello')

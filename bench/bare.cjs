/**
 * The peer: only node:http. With `answer` it reads a response (JSON on standard input: headers
 * and body) and sends it for every request; without, it sends "hello".
 */
const { createServer } = require('node:http')

const start = (headers, body) =>
  createServer((_req, res) => {
    res.writeHead(200, headers)
    res.end(body)
  }).listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('listening\n'))

if (process.argv[3] === 'answer') {
  let text = ''
  process.stdin.on('data', (chunk) => (text += chunk))
  process.stdin.on('end', () => {
    const { headers, body } = JSON.parse(text)
    start(headers, body)
  })
} else start(['Content-Type', 'text/plain', 'Content-Length', '5'], 'hello')

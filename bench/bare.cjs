/**
 * The peer: node:http and nothing else. With an answer to give (JSON on standard input: headers and body) it gives that to
 * every request; without one it says hello.
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

/** The scripts of another user of the machine, as text for a Node under that user’s uid. */

/** Tries every operation on each path of a list; prints those that succeed. */
export const PRY = `
const fs = require('node:fs')
const { join, dirname } = require('node:path')
const ways = {
  read: (path) => fs.readFileSync(path),
  list: (path) => fs.readdirSync(path),
  change: (path) => fs.closeSync(fs.openSync(path, 'r+')),
  add: (path) => fs.writeFileSync(join(path, 'planted'), 'x'),
  remove: (path) => fs.unlinkSync(path),
  'remove the folder': (path) => fs.rmdirSync(path),
  rename: (path) => fs.renameSync(path, path + '.away'),
  replace: (path) => fs.writeFileSync(path + '.tmp', 'x'),
  open: (path) => fs.chmodSync(path, 0o777),
  link: (path) => fs.linkSync(path, join(process.argv[1], 'linked')),
}
const worked = []
for (const path of process.argv.slice(2))
  for (const [way, go] of Object.entries(ways))
    try {
      go(path)
      worked.push(way + ' ' + path)
    } catch (error) {
      if (!['EACCES', 'EPERM', 'EISDIR', 'ENOTDIR'].includes(error.code)) worked.push(way + ' ' + path + ': ' + error.code)
    }
console.log(JSON.stringify(worked))`

/**
 * Requests a token on many connections at once, some of which close at once; prints every answer.
 */
export const FLOOD = `
const { connect } = require('node:net')
const [, host, port, n] = process.argv
const body = '{"name":"eve","scope":"full"}'
const name = host.includes('::ffff:') ? '127.0.0.1' : host.includes(':') ? '[' + host + ']' : host
const text = ['POST /api/v1/token HTTP/1.1', 'Host: ' + name + ':' + port, 'Content-Type: application/json',
  'Content-Length: ' + body.length, 'Connection: close', '', body].join('\\r\\n')
const one = (hurry) => new Promise((resolve) => {
  let received = ''
  const socket = connect({ host, port: Number(port) })
  socket.on('data', (bytes) => (received += bytes))
  socket.on('error', () => undefined)
  socket.on('close', () => resolve({ hurry, received }))
  socket.on('connect', () => {
    socket.write(text)
    if (hurry === 'ends') socket.end()
    if (hurry === 'closes') socket.destroySoon()
    if (hurry === 'resets') socket.resetAndDestroy()
  })
})
Promise.all(Array.from({ length: Number(n) }, (_, i) => one([null, 'ends', 'closes', 'resets'][i % 4])))
  .then((all) => console.log(JSON.stringify(all)))`

/** Connects to a Unix socket; prints `connected`, or the error. */
export const CONNECT = `
const socket = require('node:net').connect({ path: process.argv[1] })
socket.on('connect', () => { console.log('connected'); socket.destroy() })
socket.on('error', ({ code }) => console.log(code))`

/** Listens on a port, answers every request with 200, and prints the received bytes. */
export const SQUAT = `
const [, port] = process.argv
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => undefined)
  socket.on('data', (bytes) => {
    process.stdout.write(bytes)
    socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}')
  })
})
server.listen(Number(port), '127.0.0.1', () => console.log(server.address().port))`

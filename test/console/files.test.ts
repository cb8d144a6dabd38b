/** The page of the console and its files, as a browser loads them. */
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { request } from 'node:http'
import { type TestDaemon, startDaemon } from '../daemon.ts'

let daemon: TestDaemon
before(async () => {
  daemon = await startDaemon()
})
after(() => daemon.close())

const page = () => daemon.request('GET', '/', { headers: { Accept: 'text/html' } })

/** Returns the status, the headers and the bytes of a file. */
const fetched = (path: string, headers: Record<string, string>) =>
  new Promise<{ status: number; encoding: string; cache: string; bytes: Buffer }>((resolve, no) => {
    const req = request(daemon.address + path, { headers }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.once('end', () =>
        resolve({
          status: res.statusCode!,
          encoding: res.headers['content-encoding'] ?? '',
          cache: res.headers['cache-control'] ?? '',
          bytes: Buffer.concat(chunks),
        }),
      )
    })
    req.once('error', no)
    req.end()
  })

it('the page runs only its own scripts, and no window can reach it', async () => {
  const { status, headers, text } = await page()
  assert.equal(status, 200)
  const policy = headers['content-security-policy'] as string
  for (const part of [
    "default-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "connect-src 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ])
    assert(policy.split('; ').includes(part), part)
  assert.match(policy, /script-src 'self' 'sha256-[^']+'(;|$)/)
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
  assert.equal(headers['referrer-policy'], 'no-referrer')
  assert.equal(headers['cache-control'], 'no-store')
  assert.doesNotMatch(text, /https?:\/\/(?!127\.)/)
})

it('each file that the page names is compressed once, and cached permanently', async () => {
  const { text } = await page()
  const paths = new Set([...text.matchAll(/"(\/console\/[\w.-]+)"/g)].map(([, path]) => path!))
  assert(paths.size > 1)
  for (const path of paths) {
    const zipped = await fetched(path, { 'Accept-Encoding': 'gzip, br' })
    assert.deepEqual([zipped.status, zipped.encoding], [200, 'gzip'], path)
    assert.match(zipped.cache, /max-age=31536000, immutable/)
    const plain = await fetched(path, {})
    assert.deepEqual([plain.status, plain.encoding], [200, ''], path)
    assert(gunzipSync(zipped.bytes).equals(plain.bytes), path)
  }
})

it('other names are no files', async () => {
  for (const name of ['manifest.json', 'index.html', 'toString', '__proto__', 'x.js'])
    assert.equal((await fetched(`/console/${name}`, {})).status, 404, name)
})

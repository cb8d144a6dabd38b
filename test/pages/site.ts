/**
 * A small site for the tests of the public pages: the documents as the account server makes them,
 * the scripts bundled from the sources, and the time and data that the test sets.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import type { Content } from '../../src/api/route.ts'
import { languageOf } from '../../src/languages/languages.ts'
import { type GuestPage, UNKNOWN_GUEST, guestPage } from '../../src/service/pages/guest-page.ts'
import { stampPage } from '../../src/service/pages/site.ts'

export type Site = {
  origin: string
  /** The server's time in Unix milliseconds; it stands still. */
  now: number
  guests: Map<string, Omit<GuestPage, 'id' | 'now' | 'server' | 'language'>>
  /** The answers of `/s/{id}/file`. */
  stamps: Map<string, object>
  /** `Origin` and path of every POST. */
  posts: string[]
  /** Every request line in its original form. */
  requests: string[]
  close: () => Promise<void>
}

const PAGES = join(import.meta.dirname, '../../src/pages')

/** Bundles as build.mjs does, into memory. */
async function bundle(): Promise<Map<string, Uint8Array>> {
  const { outputFiles } = await build({
    bundle: true,
    minify: true,
    write: false,
    entryPoints: ['guest.ts', 'stamp.ts', 'style.css'].map((name) => join(PAGES, name)),
    outdir: 'pages',
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
  })
  return new Map(outputFiles.map((file) => [basename(file.path), file.contents]))
}

/** Returns the style sheet of the pages. */
export const styleSheet = async (): Promise<Buffer> =>
  Buffer.from((await bundle()).get('style.css')!)

/** Starts the site on a free loopback port, at this time. */
export async function startSite(now: number): Promise<Site> {
  const assets = await bundle()
  const site = {
    now,
    guests: new Map(),
    stamps: new Map(),
    posts: [],
    requests: [],
  } as unknown as Site

  const content = (path: string, languages?: string): Content | undefined => {
    const [, kind, id = '', more] = path.split('/')
    const { now, origin: server } = site
    const page = { id, now, server, language: languageOf(languages) }
    if (kind === 'g') return guestPage({ ...(site.guests.get(id) ?? UNKNOWN_GUEST), ...page })
    if (kind === 's' && more === 'file' && site.stamps.has(id)) {
      return { type: 'application/json', body: JSON.stringify(site.stamps.get(id)) }
    }
    if (kind === 's') return stampPage({ ...page, known: site.stamps.has(id) })
    const asset = assets.get(id)
    if (kind === 'assets' && asset !== undefined) {
      return { type: id.endsWith('.css') ? 'text/css' : 'text/javascript', body: asset }
    }
    if (path === '/health') return { type: 'application/json', body: '{}' }
    if (kind === 'frame') return { type: 'text/html', body: `<iframe src="/g/${id}"></iframe>` }
    return undefined
  }

  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    const path = (req.url ?? '').split('?')[0] ?? ''
    site.requests.push(`${req.method} ${req.url}`)
    res.setHeader('Date', new Date(site.now).toUTCString())
    res.setHeader('Cache-Control', 'no-store')
    res.setHeader('X-Content-Type-Options', 'nosniff')
    if (req.method === 'POST') {
      site.posts.push(`${req.headers.origin} ${path}`)
      res.writeHead(204).end()
      return
    }
    const found = content(path, req.headers['accept-language'])
    if (found === undefined) res.writeHead(404).end()
    else
      res
        .writeHead(found.status ?? 200, { 'Content-Type': found.type, ...found.headers })
        .end(found.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  site.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  site.close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return site
}

/** `publish`: what a proxy must pass on, and what a public address reaches. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type TestContext, after, before, describe, it } from 'node:test'
import { site } from '../../../src/api/site/index.ts'
import type { Table } from '../../../src/api/route.ts'
import { checkPublication } from '../../../src/cli/publish/check.ts'
import { recipeFor } from '../../../src/cli/publish/recipes.ts'
import { EXIT } from '../../../src/errors.ts'
import { accountTable } from '../../../src/http/account-listener.ts'
import { type Running, folder, startDaemon } from '../../e2e/program.ts'
import { freePort } from '../../free-port.ts'
import { call } from '../calling.ts'

const pathsOf = (table: Table) =>
  Object.values(table).flatMap((group) => Object.values(group).map(({ path }) => path))
const PAGES = pathsOf(site)
const OTHERS = pathsOf(accountTable).filter((path) => !PAGES.includes(path))
const place = { host: 'sign.example.org', upstream: 'http://127.0.0.1:19822' }

describe('a recipe passes on every page, and nothing else', () => {
  for (const [proxy, pattern] of [
    ['nginx', /location ~ "(.*)"/],
    ['cloudflared', /path: '(.*)'/],
  ] as const)
    it(proxy, () => {
      const [, expression] = pattern.exec(recipeFor(proxy, place)!) ?? []
      const passes = new RegExp(expression!)
      assert.deepEqual(
        PAGES.filter((path) => !passes.test(path)),
        [],
      )
      assert.deepEqual(
        OTHERS.filter((path) => passes.test(path)),
        [],
      )
    })

  it('caddy', () => {
    const [, list] = /@pages path (.*)/.exec(recipeFor('caddy', place)!) ?? []
    // Caddy's matcher: exact, or with `*` at the end as a prefix.
    const passes = (path: string) =>
      list!
        .split(' ')
        .some((one) => (one.endsWith('*') ? path.startsWith(one.slice(0, -1)) : path === one))
    assert.deepEqual(
      PAGES.filter((path) => !passes(path)),
      [],
    )
    assert.deepEqual(OTHERS.filter(passes), [])
  })

  it('tailscale, without the start page, which would be everything', () => {
    const mounts = [...recipeFor('tailscale', place)!.matchAll(/--set-path=(\S+) (\S+)/g)]
    const passes = (path: string) =>
      mounts.some(([, mount]) => path === mount || path.startsWith(`${mount}/`))
    assert.deepEqual(
      PAGES.filter((path) => !passes(path)),
      ['/'],
    )
    assert.deepEqual(OTHERS.filter(passes), [])
    for (const [, mount, target] of mounts) assert.equal(target, place.upstream + mount)
  })
})

/** What a proxy does with a request: the port that gets it, and the Host it sends. */
type Route = (path: string) => { readonly port: number; readonly host?: string } | null

/** Starts a proxy at a port. Answers 404 if there is no route. */
async function proxy(t: TestContext, port: number, route: Route): Promise<void> {
  const server = createServer((incoming, outgoing) => {
    const to = route(incoming.url!)
    if (to === null) return void outgoing.writeHead(404).end('no route')
    const headers = { ...incoming.headers, host: to.host ?? incoming.headers.host }
    request({ port: to.port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
      .on('error', () => outgoing.writeHead(502).end())
      .end()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
}

describe('the check of a public address', () => {
  const state = folder()
  let daemon: Running
  let port: number
  let base: string
  const portIn = (url: string | null) => Number(new URL(url!).port)
  const [, expression] = /location ~ "(.*)"/.exec(recipeFor('nginx', place)!) ?? []
  const isPage = (path: string) => new RegExp(expression!).test(path)

  before(async () => {
    port = await freePort()
    base = `http://127.0.0.1:${port}`
    daemon = await startDaemon(state.path, { SVC_PUBLIC_URL: base })
  })
  after(async () => {
    await daemon.end('SIGTERM')
    state.remove()
  })

  const faults = () => checkPublication(base, daemon.accountAddress!)

  it('finds nothing if the proxy passes on the pages', async (t) => {
    const to = { port: portIn(daemon.accountAddress) }
    await proxy(t, port, (path) => (isPage(path) ? to : null))
    assert.deepEqual(await faults(), [])
  })

  it('finds a proxy that passes on everything', async (t) => {
    await proxy(t, port, () => ({ port: portIn(daemon.accountAddress) }))
    assert.match((await faults()).join('\n'), /^.* reaches more than the pages: .*$/)
  })

  for (const [what, host] of [
    ['with its own name', undefined],
    ['with the name of the API', () => new URL(daemon.address).host],
  ] as const)
    it(`finds a proxy that passes on the API ${what}`, async (t) => {
      const to = { port: portIn(daemon.address), ...(host && { host: host() }) }
      const pages = { port: portIn(daemon.accountAddress) }
      await proxy(t, port, (path) => (path.startsWith('/api') ? to : isPage(path) ? pages : null))
      assert.match((await faults()).join('\n'), /^.* reaches the API of a daemon.*$/)
    })

  it('finds a proxy that sends everything to the API', async (t) => {
    const host = new URL(daemon.address).host
    await proxy(t, port, () => ({ port: portIn(daemon.address), host }))
    assert.match((await faults()).join('\n'), /not with this account server[^]*reaches the API/)
  })

  it('finds a proxy that sends another Host', async (t) => {
    const to = { port: portIn(daemon.accountAddress), host: 'other.example.org' }
    await proxy(t, port, (path) => (isPage(path) ? to : null))
    assert.match((await faults()).join('\n'), /^.* Let the proxy pass on the Host header.*$/)
  })

  it('finds a proxy that does not reach the account server', async (t) => {
    const closed = { port: await freePort() }
    await proxy(t, port, (path) => (isPage(path) ? closed : null))
    assert.match((await faults()).join('\n'), /^The proxy at .* answers 502/)
  })

  it('finds another account server', async (t) => {
    const other = folder()
    const another = await startDaemon(other.path, { SVC_PUBLIC_URL: base })
    try {
      const to = { port: portIn(another.accountAddress) }
      await proxy(t, port, (path) => (isPage(path) ? to : null))
      assert.match((await faults()).join('\n'), /not with this account server \(status 200\)/)
    } finally {
      await another.end('SIGTERM')
      other.remove()
    }
  })

  it('says that nothing listens', async () => {
    assert.match((await faults()).join('\n'), /^.* cannot be reached: nothing listens there/)
  })
})

describe('publish', () => {
  const apiAt = (url: string, account_address: string | null) => ({
    publication: { read: async () => ({ url, account_address }) },
  })
  const local = 'http://127.0.0.1:19822'

  it('names the steps if only this machine can open the links', async () => {
    const { code, out } = await call(apiAt(local, local), ['publish'])
    assert.equal(code, EXIT.ok)
    assert.match(out, /Only this machine can open them[^]*countersignd publish caddy --host/)
  })

  it('prints a recipe for a host', async () => {
    const { out } = await call(apiAt(local, local), ['publish', 'caddy', '--host', 'a.example'])
    assert.match(out, /^a\.example \{\n/)
    assert.match(out, /reverse_proxy 127\.0\.0\.1:19822\n/)
  })

  for (const [url, sentence] of [
    ['https://accounts.example.org', /Others can open them/],
    ['http://127.0.0.1:29822', /operator must set SVC_PUBLIC_URL/],
  ] as const)
    it(`has nothing to do for a remote account server at ${url}`, async () => {
      for (const args of [[], ['--check']]) {
        const { code, out } = await call(apiAt(url, null), ['publish', ...args])
        assert.equal(code, EXIT.ok)
        assert.match(out, sentence)
      }
    })

  it('--check does not accept an address of this machine', async () => {
    const { code, out } = await call(apiAt(local, local), ['publish', '--check'])
    assert.equal(code, EXIT.failed)
    assert.match(out, /only this machine can open/)
  })

  for (const args of [['apache'], ['caddy', '--check'], ['caddy', '--host', 'a b;']])
    it(`rejects ${args.join(' ')}`, async () => {
      const { code, err } = await call(apiAt(local, local), ['publish', ...args])
      assert.equal(code, EXIT.failed)
      assert.match(err, /recipe|not both|not a host name/)
    })
})

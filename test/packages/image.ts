/** The image: its settings, and the main job as its user, with buildah and Podman. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { wordsOf } from '../executable/main-job.ts'
import { must, run } from './machine.ts'

interface Settings {
  readonly User: string
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly Volumes: Readonly<Record<string, unknown>>
  readonly Healthcheck: { readonly Test: readonly string[] }
  readonly Labels: Readonly<Record<string, string>>
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  assert(typeof address === 'object' && address !== null)
  return address.port
}

/**
 * Tests an image.
 * @param archive its path
 * @param place a folder for the storage of containers
 */
export async function testImage(
  archive: string,
  { place, say }: { readonly place: string; readonly say: (text: string) => void },
): Promise<void> {
  const buildah = (...words: string[]) => [
    'buildah',
    '--root',
    join(place, 'storage'),
    '--runroot',
    join(place, 'run'),
    '--storage-driver',
    'vfs',
    ...words,
  ]
  const container = (await must(buildah('from', '--quiet', `docker-archive:${archive}`))).trim()
  const { Docker } = JSON.parse(await must(buildah('inspect', container))) as {
    Docker: { config: Settings }
  }
  const { User, Entrypoint, Cmd, Volumes, Healthcheck, Labels } = Docker.config
  assert.deepEqual(
    [User, Entrypoint, Cmd, Object.keys(Volumes), Healthcheck.Test],
    [
      '10001:10001',
      ['/usr/bin/countersignd'],
      ['server'],
      ['/var/lib/countersign'],
      ['CMD', '/usr/bin/countersignd', 'health', '--server'],
    ],
  )
  say(`image: ${Labels['org.debian.packages']}`)

  const [api, account] = [await freePort(), await freePort()]
  const inside = (settings: Readonly<Record<string, string>>, ...words: string[]) =>
    buildah(
      'run',
      '--isolation',
      'chroot',
      ...Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      container,
      '--',
      '/usr/bin/countersignd',
      ...words,
    )
  /** Runs a server in the container while other commands run in it. */
  async function during(
    settings: Readonly<Record<string, string>>,
    words: readonly [server: string, check: readonly string[]],
    work: () => Promise<void>,
  ): Promise<void> {
    const [program = '', ...args] = inside(settings, words[0])
    const server = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], detached: true })
    const ended = once(server, 'exit')
    try {
      for (let time = 0; (await run(inside(settings, ...words[1]))).code !== 0; time++) {
        assert(time < 60 && server.exitCode === null, `${words[0]} does not answer`)
        await pause(500)
      }
      await work()
    } finally {
      process.kill(-server.pid!, 'SIGTERM')
      await ended
    }
  }

  const daemon = {
    SVC_ACCOUNT_BIND: '127.0.0.1',
    SVC_HTTP_PORT: String(api),
    SVC_ACCOUNT_PORT: String(account),
  }
  await during(daemon, ['serve', ['health']], async () => {
    const made = await must(inside(daemon, 'guest', 'create', '--label', 'A friend', '--json'))
    const { id, url } = JSON.parse(made) as { id: string; url: string }
    const verified = await must(inside(daemon, 'verify', ...wordsOf(id, url).split(' ')))
    assert.match(verified, /^Verified/)
  })
  say('image: a daemon does its main job as the user 10001')

  const published = {
    SVC_STATE_DIR: '/var/lib/countersign/server',
    SVC_ACCOUNT_PORT: String(account),
  }
  const refused = await run(inside(published, 'server'))
  assert.match(refused.err, /SVC_PUBLIC_URL to the https address/)
  const server = { ...published, SVC_PUBLIC_URL: 'https://accounts.example.org' }
  await during(server, ['server', ['health', '--server']], async () => {
    const outside = await fetch(`http://127.0.0.1:${account}/health`).catch(() => null)
    assert(outside !== null)
  })
  assert.notEqual((await run(inside(server, 'health', '--server'))).code, 0)
  say('image: the account server is healthy while it runs')
  await must(buildah('rm', container))
}

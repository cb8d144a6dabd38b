/**
 * A remote account server for the suite: the service behind its real listener, and a front before
 * it that stands for its machine. The front replaces the Date header by the suite’s clock, and
 * issues the access token that the suite wants to use, where a device would have renewed its
 * session.
 */
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRemote } from '../../src/remote/remote.ts'
import { listenForAccount } from '../../src/http/account-listener.ts'
import { openService } from '../../src/service/service.ts'
import type { Subject } from '../account/subject.ts'
import { lettersIn } from '../service/letters.ts'
import type { Place } from '../service/subject.ts'
import { json, refusal } from './scripted.ts'
import '../declared-errors.ts'

const SESSION = '/device/v1/session'
/** The prefix of a fake refresh token: the access token to issue follows it. */
const WANTED = 'wanted '

/** Forwards a request to a port of this machine, and returns its answer with another Date. */
async function forward(
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  res: ServerResponse,
  of: { port: number; date: Date },
) {
  const onward = request({ host: '127.0.0.1', port: of.port, method, path: url, headers })
  onward.end(body)
  const [answer] = (await once(onward, 'response')) as [IncomingMessage]
  res.writeHead(answer.statusCode!, { ...answer.headers, date: of.date.toUTCString() })
  answer.pipe(res)
}

/**
 * Opens a remote account server over this database.
 * @param more further settings of an operator or a test
 */
export async function openFar(
  place: Place,
  more: Partial<Parameters<typeof openService>[0]> = {},
): Promise<Subject & { readonly base: string }> {
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const mailDir = join(mkdtempSync(join(tmpdir(), 'countersign-mail-')), 'mail')
  let port = 0
  const given = new Set<string>()

  /**
   * Issues the token once; a client that asks again was rejected with it, and its session is
   * over.
   */
  function give(token: string, res: ServerResponse) {
    if (given.has(token)) return json(res, 401, refusal('invalid_token'))
    given.add(token)
    return json(res, 200, {
      session_id: 'ses_00000000000000000000000000',
      refresh_token: 'x',
      access_token: token.replace(/ .*/, ''),
      access_expires_at: '2999-01-01T00:00:00.000Z',
    })
  }

  const front = createServer((req, res) => {
    void (async () => {
      const body = await buffer(req)
      const text = req.url === SESSION ? body.toString() : ''
      const { refresh_token = '' } = (text === '' ? {} : JSON.parse(text)) as {
        refresh_token?: string
      }
      const date = new Date(clock.ms)
      if (!refresh_token.startsWith(WANTED)) return forward(req, body, res, { port, date })
      res.setHeader('Date', date.toUTCString())
      return give(refresh_token.slice(WANTED.length), res)
    })()
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  const base = `http://127.0.0.1:${(front.address() as AddressInfo).port}`

  const now = () => clock.ms
  const service = await openService({
    ...place,
    publicUrl: () => base,
    version: '1.2.3',
    now,
    mail: { dir: mailDir },
    from: 'Countersign <countersign@countersign.test>',
    log: () => undefined,
    ...more,
  })
  const listening = await listenForAccount(
    { accountBind: '127.0.0.1', accountPort: 0, publicUrl: base },
    { server: service, log: () => undefined },
  )
  port = listening.port
  const remote = openRemote({ base, ca: null, now, wait: async () => undefined })
  let asked = 0

  return {
    base,
    clock,
    server: {
      door: (key) => remote.door(key === undefined ? undefined : async () => key),
      account({ access_token, keys }) {
        const wanted = `${WANTED}${access_token} ${asked++}`
        return remote.account({ key: async () => keys.auth, refreshToken: () => wanted })
      },
      newEnrolmentCode: (of) => service.newEnrolmentCode(of),
      letters: (address) => lettersIn(mailDir, address),
    },
    async close() {
      remote.close()
      await listening.close(0)
      front.close()
      front.closeAllConnections()
      await service.close()
      rmSync(join(mailDir, '..'), { recursive: true })
    },
  }
}

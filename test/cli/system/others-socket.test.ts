/** `SVC_HTTP_SOCKET` may name the socket of another user, which the command line does not use. */
import assert from 'node:assert/strict'
import { chownSync, existsSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { it } from 'node:test'
import { EXIT } from '../../../src/errors.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { terminal } from '../terminal.ts'

const skip = process.getuid?.() !== 0 && 'only root gives files away'

it('a command creates no account in place of the one behind the socket', { skip }, async (t) => {
  const path = join(freshFolder(t), 'api.sock')
  const server = createServer().listen(path)
  t.after(() => server.close())
  await once(server, 'listening')
  const stateDir = join(freshFolder(t), 'state')
  const list = () => terminal(stateDir)(['connection', 'list'], { env: { SVC_HTTP_SOCKET: path } })

  chownSync(path, 65_534, 65_534)
  const { code, out, err } = await list()
  assert.deepEqual([code, out], [EXIT.configuration, ''], err)
  assert.match(err, /api\.sock, the socket of user 65534\..*curl --unix-socket/s)
  assert(!existsSync(stateDir))

  chownSync(path, 0, 0)
  assert.equal((await list()).code, EXIT.ok)
})

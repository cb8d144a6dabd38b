/** `stamp` while the account server is away. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { stamp } from '../../src/handlers/stamp.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { enrolled } from '../device/enrolled.ts'
import { contextOf } from '../world/requests.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { call } from './calling.ts'

describe('stamp', () => {
  for (const isAway of [false, true])
    it(`with ${isAway ? 'an unreachable account server: no receipt, with a message' : 'an account server: has its receipt'}`, async (t) => {
      const device = await enrolled(t)
      const away = () => Promise.reject(new AppError('backend_unavailable', 'Away.'))
      const context = contextOf(device, isAway ? { stamps: { create: away } } : {})
      const create = ((input) => stamp.create(input, context)) as Api['stamp']['create']
      const file = join(freshFolder(t), 'letter.txt')
      writeFileSync(file, 'Dear Ann')
      const { code, err } = await call({ stamp: { create } }, ['stamp', file])
      assert.equal(code, EXIT.ok, err)
      assert.equal(/could not be reached\. The stamp is valid without a receipt/.test(err), isAway)
      const stored = JSON.parse(readFileSync(`${file}.stamp`, 'utf8')) as object
      assert.equal('receipt' in stored, !isAway)
    })
})

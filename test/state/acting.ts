/**
 * `node acting.ts FOLDER`: runs operations under idempotency keys without end.
 * Prints a line with the id of each operation when it begins, and a line when it is answered.
 */
import { writeSync } from 'node:fs'
import { openIdempotency } from '../../src/storage/idempotency.ts'
import { openState } from '../../src/state/state.ts'

const [dir = ''] = process.argv.slice(2)
const once = openIdempotency({ rows: openState(dir).idempotency, now: Date.now })

async function act() {
  for (let n = 0; ; n++) {
    const key = `key-${n}`
    await once({ caller: 'tok_1', key, fingerprint: 'f' }, async ({ id }) => {
      const text = Buffer.from(id).toString('hex')
      writeSync(1, `begun ${key} ${text}\n`)
      return { id: text }
    })
    writeSync(1, `answered ${key}\n`)
  }
}

void act()

/**
 * `PLACE=… node acting.ts ROUND`: runs operations under new keys without end. Each writes a row
 * twice, in two transactions that the operation joins. The process prints each key after its
 * answer. With `hold` as a second argument, it prints the first key in the middle of the operation,
 * which then does not end.
 */
import { writeSync } from 'node:fs'
import { newBackground } from '../../src/service/db/background.ts'
import { openEngine, queriesOver } from '../../src/service/db/database.ts'
import { onceOver } from '../../src/service/db/idempotency.ts'
import { lazyReceiptKey } from '../../src/service/db/server-secrets.ts'
import type { Place } from './subject.ts'

async function main(round: string, holds: boolean) {
  const engine = await openEngine(JSON.parse(process.env['PLACE'] as string) as Place)
  const db = await queriesOver(engine)
  const once = onceOver({
    engine,
    db,
    receiptKey: lazyReceiptKey(db),
    background: newBackground(() => undefined),
    now: () => 1_000_000,
  })
  for (let n = 0; ; n++) {
    const key = `${round}-${n}`
    await once({ caller: 'ses_1', key, fingerprint: 'f' }, async () => {
      const row = { id: key, kind: 'person' as const, display_name: '' }
      await db.transaction().execute((trx) => trx.insertInto('accounts').values(row).execute())
      if (holds) {
        writeSync(1, `${key}\n`)
        await new Promise(() => undefined)
      }
      await db.updateTable('accounts').set({ display_name: key }).where('id', '=', key).execute()
      return { id: key }
    })
    writeSync(1, `${key}\n`)
  }
}

void main(process.argv[2]!, process.argv[3] === 'hold')

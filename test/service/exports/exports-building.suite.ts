/**
 * Which server builds an export. The cases include builders that fail, stop or die. For every
 * engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { AppError } from '../../../src/errors.ts'
import type { Log } from '../../../src/log.ts'
import { newBackground } from '../../../src/service/db/background.ts'
import { newExporter } from '../../../src/service/exports/building.ts'
import { type ServiceDatabase, openServiceDatabase } from '../database.ts'
import type { Engine } from '../engines.ts'
import { withEvents } from '../events.ts'
import { beside, exportRow, filesOf, newest, partsIn, exportIn } from './exports-subject.ts'
import { logEntry } from '../log-rows.ts'
import { enrol, type Person } from '../person.ts'
import { openSubject, type LocalSubject, type Place } from '../subject.ts'
import { until } from '../../until.ts'

const LEASE_MS = 30_000

/** Returns a gate that the test opens. */
function newGate() {
  let open!: () => void
  const opened = new Promise<void>((resolve) => (open = resolve))
  let come!: () => void
  const reached = new Promise<void>((resolve) => (come = resolve))
  return { open, reached, pass: () => (come(), opened) }
}

export function exportsBuildingSuite(name: string, { newPlace }: Engine): void {
  let place: Place
  let subject: LocalSubject
  let ada: Person
  let database: ServiceDatabase

  const own = (): Account =>
    subject.service.as({ account: ada.id, device: null, session: null, token: null })
  /** Starts a builder of another server, which reads the verification log with `list`. */
  const another = (
    list: Account['verificationLog']['list'],
    { log = () => undefined, isAway = () => false }: { log?: Log; isAway?: () => boolean } = {},
  ) => {
    const closing = new AbortController()
    const background = newBackground(log)
    const mail = { isRelayed: false, send: async () => undefined }
    const account = own()
    const exporter = newExporter({
      ground: withEvents({ db: database.db, background, mail, now: () => subject.clock.ms }),
      accountOf: () => ({ ...account, verificationLog: { list } }),
      isAway,
      log,
      signal: closing.signal,
    })
    const stop = async () => {
      closing.abort()
      await background.idle()
    }
    return { wake: () => exporter.wake(), idle: () => background.idle(), stop }
  }
  /** Queues an export that no server builds yet. */
  const queue = async () => {
    await own().exports.clear({})
    const row = exportRow(ada.id, subject.clock.ms, {})
    await database.db.insertInto('exports').values(row).execute()
    return row.id
  }
  const rowOf = (id: string) =>
    database.db.selectFrom('exports').selectAll().where('id', '=', id).executeTakeFirst()
  const notes = async () => (await own().notifications.list({})).items.map(({ kind }) => kind)

  describe(`building exports: ${name}`, () => {
    before(async () => {
      place = await newPlace()
      subject = await openSubject(place)
      ada = await enrol(subject.server)
      database = await openServiceDatabase(place)
      const items = Array.from({ length: 100 }, () => logEntry(subject.clock.ms))
      await ada.account.verifications.push({ body: { items } })
    })
    after(async () => {
      await database.close()
      await subject.close()
    })

    test('an expired lease is taken over, and its former holder writes nothing more', async () => {
      const id = await queue()
      const gate = newGate()
      const slow = another(async (query) => {
        await gate.pass()
        return own().verificationLog.list(query)
      })
      slow.wake()
      await gate.reached
      assert.equal((await newest(own())).state, 'building')

      subject.clock.ms += LEASE_MS - 1
      const early = another(() => assert.fail('the lease still runs'))
      early.wake()
      await early.idle()
      await early.stop()
      subject.clock.ms += 1
      await exportIn(own(), 'ready')
      const row = await rowOf(id)
      const parts = await partsIn(place)

      gate.open()
      await slow.idle()
      assert.deepEqual(await rowOf(id), row)
      assert.equal(await partsIn(place), parts)
      const files = await filesOf(subject.service, own())
      assert.equal(JSON.parse(files.get('verification-log.json')!).length, 100)
      assert.deepEqual(await notes(), ['export_ready'], 'told once')
      await slow.stop()
    })

    test('the file contains nothing of an earlier attempt', async () => {
      await own().exports.clear({})
      const builder_until = subject.clock.ms
      const dead = { state: 'building', progress: 55, builder: 'dead', builder_until } as const
      const row = exportRow(ada.id, subject.clock.ms, dead)
      await database.db.insertInto('exports').values(row).execute()
      const bytes = new Uint8Array(1000)
      for (const seq of [0, 1, 5])
        await database.db
          .insertInto('export_parts')
          .values({ export_id: row.id, seq, bytes })
          .execute()
      await exportIn(own(), 'ready')
      assert.ok((await filesOf(subject.service, own())).has('README.txt'))
      assert.equal(await partsIn(place), 1)
    })

    test('of ten concurrent builders one builds', async () => {
      const id = await queue()
      let reads = 0
      const builders = Array.from({ length: 10 }, () =>
        another(async (query) => {
          if (query.cursor === undefined) reads += 1
          return own().verificationLog.list(query)
        }),
      )
      for (const { wake } of builders) wake()
      await Promise.all(builders.map(({ idle }) => idle()))
      assert.equal(reads, 1)
      assert.equal((await rowOf(id))!.state, 'ready')
      await Promise.all(builders.map(({ stop }) => stop()))
    })

    test('an export deleted during its build leaves no file and no notification', async () => {
      const id = await queue()
      const before = await notes()
      const logged: unknown[] = []
      const gate = newGate()
      const slow = another(
        async () => {
          await gate.pass()
          throw new Error('too late to matter')
        },
        { log: (...line) => logged.push(line) },
      )
      slow.wake()
      await gate.reached
      assert.deepEqual(await own().exports.clear({}), { deleted: 1 })
      gate.open()
      await slow.idle()
      assert.equal(await rowOf(id), undefined)
      assert.equal(await partsIn(place), 0)
      assert.deepEqual(await notes(), before)
      assert.deepEqual(logged, [])
      await slow.stop()
    })

    test('a closing server leaves its build to the next server at once', async () => {
      const id = await queue()
      const gate = newGate()
      const slow = another(async (query) => {
        await gate.pass()
        return own().verificationLog.list(query)
      })
      slow.wake()
      await gate.reached
      const stopped = slow.stop()
      gate.open()
      await stopped
      const { state, builder } = (await rowOf(id))!
      assert.deepEqual([state, builder], ['queued', null])
      await exportIn(own(), 'ready')
    })

    test('a failure is reported without details; the cause is logged', async () => {
      let id = ''
      const logged: unknown[] = []
      const failing = another(
        async () => {
          throw new Error('the secret cause')
        },
        { log: (level, event, of) => logged.push([level, event, of]) },
      )
      // The server’s own builder, started by its timer, may take one first.
      await until('an export that this builder took', async () => {
        id = await queue()
        failing.wake()
        await failing.idle()
        return logged.length > 0
      })
      const { items } = await own().exports.list({})
      assert.equal(items[0]!.state, 'failed')
      assert.match(items[0]!.error!, /Request another/)
      assert.doesNotMatch(JSON.stringify(items), /secret cause/)
      assert.equal(await partsIn(place), 0)
      assert.equal((await notes())[0], 'export_failed')
      const [[level, , { export_id, cause }]] = logged as [
        [string, string, Record<string, unknown>],
      ]
      assert.deepEqual([level, export_id, String(cause)], ['error', id, 'Error: the secret cause'])
      await failing.stop()
    })

    for (const [what, error, isAway] of [
      ['an error of the driver', new Error('gone'), true],
      ['an error code', new AppError('backend_unavailable', 'gone'), false],
    ] as const)
      test(`an outage of the database, known by ${what}, does not fail the export`, async () => {
        const id = await queue()
        const away = another(
          async () => {
            throw error
          },
          { isAway: () => isAway },
        )
        away.wake()
        await away.idle()
        assert.equal((await rowOf(id))!.state, 'building')
        await away.stop()
        subject.clock.ms += LEASE_MS
        await exportIn(own(), 'ready')
      })

    test('reports progress during the build', async () => {
      const id = await queue()
      const seen: number[] = []
      const pages = 50
      let page = 0
      const slow = another(async () => {
        subject.clock.ms += 1000
        seen.push((await rowOf(id))!.progress)
        page += 1
        const items = [logEntry(subject.clock.ms), logEntry(subject.clock.ms)]
        return { items, next_cursor: page < pages ? String(page) : null }
      })
      slow.wake()
      await slow.idle()
      assert.deepEqual(
        seen,
        seen.toSorted((a, b) => a - b),
      )
      assert.ok(new Set(seen).size > 10, seen.join())
      assert.ok(seen.every((percent) => percent >= 0 && percent < 100))
      assert.equal((await rowOf(id))!.progress, 100)
      await slow.stop()
    })

    test('deleting an account deletes its exports', async () => {
      const eve = await enrol(subject.server, 'Eve')
      const row = exportRow(eve.id, subject.clock.ms, {})
      await database.db.insertInto('exports').values(row).execute()
      const gate = newGate()
      const logged: unknown[] = []
      const slow = another(
        async (query) => {
          await gate.pass()
          return own().verificationLog.list(query)
        },
        { log: (...line) => logged.push(line) },
      )
      slow.wake()
      await gate.reached
      await database.db.deleteFrom('accounts').where('id', '=', eve.id).execute()
      gate.open()
      await slow.idle()
      assert.equal(await rowOf(row.id), undefined)
      assert.deepEqual(logged, [])
      await slow.stop()
    })

    test('a server that starts resumes unfinished exports', async () => {
      const id = await queue()
      const next = await openSubject(place, subject.clock)
      // Any call will do: it opens the database.
      await next.service
        .as({ account: ada.id, device: null, session: null, token: null })
        .tags.list({})
      const state = () => beside(place, async () => (await rowOf(id))!.state)
      await until('the finished export', async () => (await state()) === 'ready')
      await next.close()
    })
  })
}

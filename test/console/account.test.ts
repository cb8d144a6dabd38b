/** The pages of the account in a browser, by keyboard: settings, health and organisation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { startDaemon } from '../daemon.ts'
import { skip } from '../pages/browser.ts'
import { until } from '../until.ts'
import { assertFaultless, consoleBrowser } from './console.ts'

const HOSTILE = '<img src=x onerror=alert(1)>'

/** Presses a button or a link with this name by the keyboard. */
async function press(page: Page, name: string, within = 'body'): Promise<void> {
  const inside = page.locator(within)
  const button = inside.getByRole('button', { name, exact: true })
  const found = button.or(inside.getByRole('link', { name, exact: true })).first()
  await found.waitFor()
  await found.focus()
  await page.keyboard.press('Enter')
}

/** Replaces the text of a field by typing. */
async function type(page: Page, label: string, text: string): Promise<void> {
  const field = page.getByLabel(label, { exact: true })
  await field.waitFor()
  await field.focus()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(text)
}

/** Chooses a value of a list by its text. */
async function choose(page: Page, label: string, option: string): Promise<void> {
  const list = page.getByLabel(label, { exact: true })
  await list.focus()
  await page.keyboard.type(option)
  assert.equal(await list.locator('option:checked').textContent(), option)
}

/** Ticks a box by the keyboard. */
async function tick(page: Page, label: string): Promise<void> {
  const box = page.getByLabel(label, { exact: true }).last()
  await box.waitFor()
  await box.focus()
  await page.keyboard.press('Space')
}

/** A command that the page offers to copy. */
const command = (at: Page | Locator, text: string) => at.locator('code', { hasText: text })

test('the account in the console', { skip }, async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const browser = await consoleBrowser(t)
  const token = await daemon.token('full')
  const open = (at: string, options: Parameters<typeof browser.open>[1] = {}) =>
    browser.open(daemon.address, { at, scope: 'full', ...options })
  /** Reads a route with a token of scope full. */
  async function read<T>(path: string): Promise<T> {
    return (await daemon.request('GET', path, { token })).json as T
  }
  const send = (method: string, path: string, body?: unknown) =>
    daemon.request(method, path, { token, body })

  await t.test('settings', async (part) => {
    const page = await open('#/settings')

    await part.test('a name is changed, and is text everywhere', async () => {
      await type(page, 'Name', HOSTILE)
      await page.keyboard.press('Enter')
      await page.locator('header .account', { hasText: HOSTILE }).waitFor()
      const { display_name } = await read<{ display_name: string }>('/api/v1/profile')
      assert.equal(display_name, HOSTILE)
      assert.equal(await page.locator('img').count(), 0)
    })

    await part.test('an address is added and waits for its confirmation', async () => {
      await type(page, 'New address', 'ada@example.org')
      await page.keyboard.press('Enter')
      await page.getByText('not confirmed').waitFor()
      const { items } = await read<{ items: { address: string }[] }>('/api/v1/emails')
      assert.equal(items[0]?.address, 'ada@example.org')
    })

    await part.test('language, time zone and who finds the account are saved', async () => {
      await choose(page, 'Language of mails', 'German')
      await choose(page, 'Time zone of times in mails', 'Europe/Zurich')
      await tick(page, 'People who know an address of mine can follow me with it')
      const section = 'section:has(h2:text("Mails and finding you"))'
      await press(page, 'Save', section)
      await page.locator(section).getByText('Saved.').waitFor()
      const saved = await read<Record<string, unknown>>('/api/v1/preferences')
      assert.deepEqual(
        [saved['locale'], saved['time_zone'], saved['findable_by_email']],
        ['de', 'Europe/Zurich', false],
      )
    })

    await part.test(
      'the public code is switched on, shows its words, and is switched off',
      async () => {
        await press(page, 'Switch on')
        await press(page, 'Switch on', 'dialog')
        const words = page.locator('.words')
        await words.waitFor()
        type WithCode = { public_code: { words: string } | null }
        const { public_code } = await read<WithCode>('/api/v1/profile')
        assert.equal(
          (await words.textContent())?.split(' ').length,
          public_code?.words.split(' ').length,
        )
        await press(page, 'Switch off')
        await words.waitFor({ state: 'detached' })
        assert.equal((await read<WithCode>('/api/v1/profile')).public_code, null)
      },
    )

    await part.test('a tag is created with a colour, renamed and deleted', async () => {
      type Tags = { items: { name: string; color: string | null }[] }
      const tags = async () => (await read<Tags>('/api/v1/tags')).items
      await press(page, 'New tag')
      await type(page, 'Name of the tag', HOSTILE)
      await tick(page, 'With a colour')
      await press(page, 'Save', 'dialog')
      await page.getByRole('button', { name: `Edit ${HOSTILE}` }).waitFor()
      assert.deepEqual(
        (await tags()).map(({ name, color }) => [name, color]),
        [[HOSTILE, '#2453b8']],
      )
      await press(page, `Edit ${HOSTILE}`)
      await type(page, 'Name of the tag', 'Bank')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Delete Bank' }).waitFor()
      await press(page, 'Delete Bank')
      await press(page, 'Delete', 'dialog')
      await page.getByText('There are no tags yet.').waitFor()
      assert.deepEqual(await tags(), [])
    })

    await part.test('a preset is created, used for new connections, and deleted', async () => {
      type Presets = { items: { name: string; is_default: boolean; favorite: boolean }[] }
      const presets = async () => (await read<Presets>('/api/v1/presets')).items
      await press(page, 'New preset')
      await type(page, 'Name of the preset', 'Customers')
      await tick(page, 'New connections become favourites')
      await press(page, 'Save', 'dialog')
      await page.getByRole('button', { name: 'Edit Customers' }).waitFor()
      await press(page, 'Use for new connections Customers')
      await page.getByText('used for new connections').waitFor()
      const [made] = await presets()
      assert.deepEqual([made?.name, made?.is_default, made?.favorite], ['Customers', true, true])
      await press(page, 'Delete Customers')
      await press(page, 'Delete', 'dialog')
      await page.getByText('There are no presets yet.').waitFor()
      assert.deepEqual(await presets(), [])
    })

    await part.test(
      'an export is requested, gets ready without a reload, and is downloaded',
      async () => {
        await press(page, 'Request an export')
        const get = page.getByRole('button', { name: 'Get the link' })
        await get.waitFor()
        await press(page, 'Get the link')
        const link = page.getByRole('link', { name: 'Download the export' })
        await link.waitFor()
        const file = await fetch((await link.getAttribute('href'))!)
        const bytes = new Uint8Array(await file.arrayBuffer())
        // The signature of ZIP files.
        assert.deepEqual([file.status, ...bytes.subarray(0, 2)], [200, 0x50, 0x4b])
        await press(page, 'Delete all exports')
        await press(page, 'Delete all exports', 'dialog')
        await get.waitFor({ state: 'detached' })
        await link.waitFor({ state: 'detached' })
        assert.deepEqual((await read<{ items: unknown[] }>('/api/v1/exports')).items, [])
      },
    )

    await part.test('feedback is sent', async () => {
      await type(page, 'Message', 'It works.')
      await press(page, 'Send')
      await page.getByText('Thank you.').waitFor()
    })

    await part.test('the recovery key and the sign-out are commands', async () => {
      for (const text of ['countersignd recovery create', 'countersignd logout'])
        assert.equal(await command(page, text).count(), 1)
    })
  })

  await t.test('health', async (part) => {
    await part.test(
      'a sync by another program shows without a reload, and one is started',
      async () => {
        const page = await open('#/health')
        const last = page.locator('dd time').first()
        await last.waitFor()
        const before = await last.getAttribute('datetime')
        await send('POST', '/api/v1/sync')
        await until('a newer sync', async () => (await last.getAttribute('datetime')) !== before)
        const second = await last.getAttribute('datetime')
        await press(page, 'Sync now')
        await until('another sync', async () => (await last.getAttribute('datetime')) !== second)
        const { last_sync } = await read<{ last_sync: { finished_at: string } }>('/api/v1/sync')
        assert.equal(await last.getAttribute('datetime'), last_sync.finished_at)
        await page.context().close()
      },
    )

    await part.test('the findings of doctor are listed, the worst first', async () => {
      const page = await open('#/health')
      await page.getByText(/^\d+ checks? passed$/).waitFor()
      type Report = { checks: { state: 'ok' | 'warn' | 'fail' }[] }
      const { checks } = await read<Report>('/api/v1/doctor')
      const found = await page.locator('.finding .badge').allTextContents()
      const texts = { fail: 'fails', warn: 'look at it', ok: 'passes' }
      const expected = (['fail', 'warn', 'ok'] as const).flatMap((wanted) =>
        checks.flatMap(({ state }) => (state === wanted ? [texts[state]] : [])),
      )
      assert.deepEqual(found, expected)
      await page.context().close()
    })

    await part.test(
      'without full rights, the check of the installation names the command',
      async () => {
        const page = await open('#/health', { scope: 'write' })
        await command(page, 'countersignd open --full').waitFor()
        await page.context().close()
      },
    )
  })

  await t.test('organisation', async (part) => {
    const page = await open('#/organisation')
    const members = async () =>
      (
        await read<{ items: { email: string | null; state: string; group_ids: string[] }[] }>(
          '/api/v1/org/members',
        )
      ).items

    await part.test('one is created and used', async () => {
      await type(page, 'Name of the organisation', `Watt ${HOSTILE}`)
      await page.keyboard.press('Enter')
      await page.locator('.figures').waitFor()
      const context = await read<{ active_organisation?: { name: string } }>('/api/v1/context')
      assert.equal(context.active_organisation?.name, `Watt ${HOSTILE}`)
      assert.equal(await page.locator('img').count(), 0)
    })

    await part.test(
      'people are invited from any text, with a preview and a result for each',
      async () => {
        await press(page, 'Invite')
        await type(
          page,
          'Text with addresses',
          'Bob <bob@example.org>; carol@example.org, BOB@example.org, @x',
        )
        await page.getByText('2 addresses will be invited.').waitFor()
        assert.deepEqual(await page.locator('tbody .badge').allTextContents(), [
          'will be invited',
          'will be invited',
          'twice in the text: sent once',
          'not an address',
        ])
        await press(page, 'Invite 2 addresses')
        await page.getByText('2 addresses were invited.').waitFor()
        const addresses = (await members()).map(({ email }) => email)
        assert.deepEqual(
          new Set(addresses),
          new Set(['bob@example.org', 'carol@example.org', null]),
        )
      },
    )

    await part.test('a group is created', async () => {
      await press(page, 'Groups')
      await press(page, 'New group')
      await type(page, 'Name of the group', 'Support')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Delete Support' }).waitFor()
    })

    await part.test('members are found, suspended, activated, and put into groups', async () => {
      await press(page, 'Members')
      await type(page, 'Search', 'BOB')
      await page.getByText('1 member', { exact: true }).waitFor()
      await press(page, 'Suspend bob@example.org')
      await press(page, 'Suspend', 'dialog')
      const activate = page.getByRole('button', { name: 'Activate bob@example.org' })
      await activate.waitFor()
      const bob = async () => (await members()).find(({ email }) => email === 'bob@example.org')
      assert.equal((await bob())?.state, 'suspended')
      await press(page, 'Activate bob@example.org')
      await activate.waitFor({ state: 'detached' })
      assert.equal((await bob())?.state, 'invited')
      await type(page, 'Search', '')
      await press(page, `Groups ${HOSTILE}`)
      await tick(page, 'Support')
      await press(page, 'Save the groups')
      await page.getByRole('cell', { name: 'Support' }).waitFor()
      assert.equal((await members()).find(({ email }) => email === null)?.group_ids.length, 1)
    })

    await part.test('activity names what it is about', async () => {
      await press(page, 'Activity')
      await page.getByRole('row', { name: /A person was invited.*bob@example\.org/ }).waitFor()
    })

    await part.test('the trend is a chart, and the same numbers in a table', async () => {
      await press(page, 'Overview')
      await page.locator('canvas').waitFor()
      const chart = page.getByRole('img')
      assert.match((await chart.getAttribute('aria-label'))!, /^All events: \d+ in this period/)
      await page.locator('summary').focus()
      await page.keyboard.press('Enter')
      assert.equal(await page.locator('details tr').count(), 31)
      await choose(page, 'Period', 'One year, by week')
      await page.getByRole('columnheader', { name: 'Week of' }).waitFor({ state: 'attached' })
    })

    await part.test('another organisation appears without a reload, and is used', async () => {
      await press(page, 'Overview')
      await send('POST', '/api/v1/org', { name: 'Second' })
      await send('POST', '/api/v1/sync')
      await page.getByRole('button', { name: 'Use Second' }).waitFor()
      await press(page, 'Use Second')
      await page.getByText('Second, your role: owner').waitFor()
      const context = await read<{ active_organisation?: { name: string } }>('/api/v1/context')
      assert.equal(context.active_organisation?.name, 'Second')
    })

    await part.test('without full rights, the page names the command', async () => {
      const narrow = await open('#/organisation', { scope: 'write' })
      await command(narrow, 'countersignd open --full').waitFor()
      await narrow.context().close()
    })
  })

  await t.test('axe-core finds nothing in a preview and in a dialog', async () => {
    const page = await open('#/organisation/invite')
    await type(page, 'Text with addresses', 'dan@example.org, dan@example.org, @x')
    await page.getByText('1 address will be invited.').waitFor()
    await assertFaultless(page)
    await page.goto(`${daemon.address}/#/settings`)
    await press(page, 'New preset')
    await page.locator('dialog').waitFor()
    await assertFaultless(page)
    await page.context().close()
  })

  await t.test('the account is deleted only after its name was typed', async () => {
    // The answer to a window that is older than two minutes.
    const early = await open('#/settings')
    const json = { error: 'insufficient_user_authentication', message: 'Run it again.' }
    await early.route('**/api/v1/account', (route) => route.fulfill({ status: 403, json }))
    await press(early, 'Delete the account …')
    await type(early, 'Name of the account', HOSTILE)
    await press(early, 'Delete the account', 'dialog')
    await command(early.locator('dialog'), 'countersignd open --full').waitFor()
    await early.context().close()
    const page = await open('#/settings')
    await press(page, 'Delete the account …')
    const confirm = page.locator('dialog').getByRole('button', { name: 'Delete the account' })
    await type(page, 'Name of the account', 'Ada')
    assert.equal(await confirm.isDisabled(), true)
    await type(page, 'Name of the account', HOSTILE)
    await press(page, 'Delete the account', 'dialog')
    await page.locator('main.gate').waitFor()
    const { authenticated } = await read<{ authenticated: boolean }>('/api/v1/status')
    assert.notEqual(authenticated, true)
  })
})

/** A real Prometheus reads the metrics of a daemon and of an account server. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { startAccountServer } from '../account-server.ts'
import { ask, startDaemon } from '../daemon.ts'
import { exec } from '../e2e/program.ts'
import { freePort } from '../free-port.ts'
import { lacking } from '../installed.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { newDatabase } from '../service/shared-postgres.ts'
import { until } from '../until.ts'

const TOKEN = 'a-token-of-32-characters-for-test'
const RULES = join(import.meta.dirname, '../../ops/prometheus/alerts.yaml')

interface Target {
  readonly labels: { readonly job: string }
  readonly health: string
  readonly lastError: string
}

/** Starts a Prometheus with a configuration. Returns a function that queries it. */
async function startPrometheus(t: TestContext, configuration: object) {
  const folder = freshFolder(t)
  const file = join(folder, 'prometheus.json')
  writeFileSync(file, JSON.stringify(configuration))
  const port = await freePort()
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: 'ignore', cwd: folder },
  )
  t.after(async () => {
    if (child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const address = `http://127.0.0.1:${port}`
  await until('Prometheus', async () => {
    assert.equal(child.exitCode, null, 'Prometheus ended')
    return ask(address, 'GET', '/-/ready').then(
      ({ status }) => status === 200,
      () => false,
    )
  })
  return async <T>(path: string): Promise<T> => {
    const { text } = await ask(address, 'GET', `/api/v1/${path}`)
    return (JSON.parse(text) as { data: T }).data
  }
}

describe('with Prometheus', { skip: lacking('prometheus', 'promtool') }, () => {
  test('both programs are up, and their alerts work', async (t) => {
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    const secrets = freshFolder(t)
    const [daemonToken, serverToken] = ['daemon', 'server'].map((name) => join(secrets, name))
    writeFileSync(daemonToken!, await daemon.token('read'))
    writeFileSync(serverToken!, TOKEN)
    const server = await startAccountServer(t, {
      SVC_DATABASE_URL: await newDatabase(),
      SVC_METRICS_TOKEN_FILE: serverToken!,
    })
    const job = (name: string, address: string, file: string) => ({
      job_name: name,
      authorization: { credentials_file: file },
      static_configs: [{ targets: [new URL(address).host] }],
    })
    const query = await startPrometheus(t, {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: [
        job('countersign', daemon.address, daemonToken!),
        job('countersign-server', server.address, serverToken!),
        job('countersign-wrong-token', daemon.address, serverToken!),
      ],
    })
    const targets = await until('three scrapes', async () => {
      const { activeTargets } = await query<{ activeTargets: readonly Target[] }>('targets')
      const isScraped = activeTargets.every(({ health }) => health !== 'unknown')
      return activeTargets.length === 3 && isScraped ? activeTargets : null
    })
    const healths = new Map(targets.map(({ labels, health }) => [labels.job, health]))
    assert.deepEqual(
      Object.fromEntries(healths),
      { countersign: 'up', 'countersign-server': 'up', 'countersign-wrong-token': 'down' },
      targets.map(({ lastError }) => lastError).join('\n'),
    )
    const value = async (expression: string) => {
      const path = `query?query=${encodeURIComponent(expression)}`
      const { result } = await query<{ result: { value: [number, string] }[] }>(path)
      return result[0]?.value[1]
    }
    assert.equal(await value('count(countersign_build_info)'), '2')
    assert.equal(await value('countersign_database_pool_size{job="countersign-server"}'), '10')
    const names = await query<readonly string[]>('label/__name__/values')
    for (const name of names) assert(!name.includes('exported_'), name)
    const labels = await query<readonly string[]>('labels')
    assert.deepEqual(
      labels.filter((name) => name.startsWith('exported_')),
      [],
    )
    const alert = 'ALERTS{alertname="CountersignDown", job="countersign-wrong-token"}'
    // It fires after five minutes; until then it is pending.
    await until('the alert', async () => (await value(`count(${alert})`)) === '1')
  })

  test('promtool finds no fault in the metrics', async (t) => {
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    const env = { SVC_METRICS_PORT: '0' }
    const server = await startAccountServer(t, env)
    const line = server.log.find((one) => one.includes('listening for metrics')) ?? '{}'
    const own = new URL((JSON.parse(line) as { address: string }).address).origin
    const headers = { Accept: 'text/plain' }
    const texts = [
      await daemon.request('GET', '/metrics', { token: await daemon.token('read'), headers }),
      await ask(own, 'GET', '/metrics', { headers }),
    ]
    for (const { text } of texts) {
      const { code, stderr } = await exec('promtool', ['check', 'metrics'], { input: text })
      assert.deepEqual([code, stderr], [0, ''])
    }
  })
})

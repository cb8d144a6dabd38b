/** The files for operators: alert rules, their tests, and the dashboard. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { METRICS } from '../../src/metrics/catalogue.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { exec } from '../e2e/program.ts'
import { lacking } from '../installed.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const OPS = join(import.meta.dirname, '../../ops')
const RULES = join(OPS, 'prometheus/alerts.yaml')
const RULES_TESTS = join(OPS, 'prometheus/alerts.test.yaml')

/** Returns the expressions of the alert rules, by the name of the alert. */
function alertExpressions(): Map<string, string> {
  const rules = readFileSync(RULES, 'utf8').split(/^ +- alert: /m)
  return new Map(
    rules.slice(1).map((rule) => {
      const [, expression = ''] = /^ +expr: (?:>-\n)?([^]*?)\n {8}\w+:/m.exec(rule) ?? []
      return [rule.slice(0, rule.indexOf('\n')), expression.replace(/\s+/g, ' ').trim()]
    }),
  )
}

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const dashboard = () =>
  JSON.parse(readFileSync(join(OPS, 'grafana/countersign.json'), 'utf8')) as {
    panels: readonly Panel[]
    templating: { list: readonly { query: unknown }[] }
  }

/** Returns an expression of the dashboard as Grafana sends it. */
const sent = (expression: string) =>
  expression.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.+')

/** Returns the expressions of the dashboard, each with the title of its panel. */
function dashboardExpressions(): [title: string, expression: string][] {
  const { panels, templating } = dashboard()
  const ofVariables = templating.list.flatMap(({ query }): [string, string][] => {
    const { query: text } = query as { query?: string }
    const [, expression] = /^label_values\((.*), \w+\)$/.exec(text ?? '') ?? []
    return expression === undefined ? [] : [['variables', sent(expression)]]
  })
  assert.equal(ofVariables.length, 2)
  return [
    ...panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }): [string, string] => [title, sent(expr)]),
    ),
    ...ofVariables,
  ]
}

/** The labels that Prometheus adds to each sample of a target. */
const ADDED = ['job', 'instance']

type Known = Map<string, { readonly labels: readonly string[]; readonly values: object }>

/** Returns what is wrong with the metrics, labels and values that an expression names. */
function faultsOf(expression: string, known: Known): string[] {
  const selectors = expression.matchAll(
    /\b(up|(?:countersign|process|nodejs)_\w+)(?:\{([^}]*)\})?/g,
  )
  const found = [...selectors]
  if (found.length === 0) return ['names no metric']
  return found.flatMap(([, name = '', matchers = '']) => {
    if (name === 'up') return []
    const metric = known.get(name)
    if (metric === undefined) return [`there is no ${name}`]
    return [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].flatMap(
      ([, label = '', operator = '', value = '']) => {
        if (ADDED.includes(label)) return []
        if (!metric.labels.includes(label)) return [`${name} has no label ${label}`]
        const values = (metric.values as Record<string, unknown>)[label]
        if (!Array.isArray(values)) return []
        const wanted = operator.endsWith('~') ? value.split('|') : [value]
        return wanted
          .filter((one) => !values.includes(one))
          .map((one) => `${name} has no ${label} ${one}`)
      },
    )
  })
}

describe('each expression names metrics that exist', () => {
  let daemon: TestDaemon
  const known: Known = new Map()
  before(async () => {
    daemon = await startDaemon()
    for (const metric of Object.values(METRICS)) {
      const { name, labels, values } = metric
      const suffixes = metric.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      for (const suffix of suffixes) known.set(name + suffix, { labels, values })
    }
    const token = await daemon.token('read')
    const { text } = await daemon.request('GET', '/metrics', {
      token,
      headers: { Accept: 'text/plain' },
    })
    for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
      const names =
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((s) => name + s) : [name]
      for (const one of names) if (!known.has(one)) known.set(one, { labels: [], values: {} })
    }
  })
  after(() => daemon.close())

  test('in the alert rules', () => {
    const expressions = alertExpressions()
    assert(expressions.size > 20)
    for (const [name, expression] of expressions)
      assert.deepEqual(faultsOf(expression, known), [], name)
  })

  test('in the dashboard', () => {
    const expressions = dashboardExpressions()
    assert(expressions.length > 40)
    for (const [title, expression] of expressions)
      assert.deepEqual(faultsOf(expression, known), [], title)
  })

  test('in the dashboard, the legend uses labels of the result', () => {
    for (const { title, targets = [] } of dashboard().panels)
      for (const { expr, legendFormat } of targets)
        for (const [, label = ''] of legendFormat.matchAll(/{{(\w+)}}/g))
          assert(
            new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr) ||
              (!/\bby \(/.test(expr) && faultsOf(`${label}`, known).length > 0),
            `${title}: ${label}`,
          )
  })

  test('each metric of the program is in the dashboard', () => {
    const text = dashboardExpressions()
      .map(([, expression]) => expression)
      .join('\n')
    for (const { name } of Object.values(METRICS)) assert(text.includes(name), name)
  })

  const planted: [expression: string, fault: string][] = [
    ['rate(countersign_syncs[5m])', 'there is no countersign_syncs'],
    ['countersign_webhooks{stat="failing"}', 'countersign_webhooks has no label stat'],
    ['countersign_webhooks{state=~"failing|lost"}', 'countersign_webhooks has no state lost'],
    ['time()', 'names no metric'],
  ]
  for (const [expression, fault] of planted)
    test(`a planted fault is found: ${expression}`, () => {
      assert.deepEqual(faultsOf(expression, known), [fault])
    })
})

describe('promtool', { skip: lacking('promtool') }, () => {
  const passes = async (args: readonly string[], input = '') => {
    const { code, stdout, stderr } = await exec('promtool', args, { input })
    assert.deepEqual([code, stderr], [0, ''], stdout + stderr)
  }

  test('it accepts the alert rules', () => passes(['check', 'rules', RULES]))

  test('each alert fires in its test, and none while all is well', async () => {
    const tests = readFileSync(RULES_TESTS, 'utf8')
    for (const name of alertExpressions().keys())
      assert(tests.includes(`alertname="${name}", alertstate="firing"`), `${name} has no test`)
    await passes(['test', 'rules', RULES_TESTS])
  })

  test('it accepts the expressions of the dashboard', async (t) => {
    const file = join(freshFolder(t), 'dashboard.json')
    const rules = dashboardExpressions().map(([, expr], at) => ({ record: `panel:${at}`, expr }))
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    await passes(['check', 'rules', file])
  })
})

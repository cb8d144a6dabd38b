import assert from 'node:assert/strict'
import { test } from 'node:test'
import { METRICS } from '../../src/metrics/catalogue.ts'
import { Counter, Gauge, Histogram } from '../../src/metrics/instruments.ts'

const described = { name: 'x_total' }

test('a family with few possible series has them all from the start', () => {
  const counter = new Counter({ ...described, labels: { a: ['1', '2'], b: ['x', 'y'] } })
  counter.add({ a: '2', b: 'x' })
  assert.deepEqual(
    counter.all().map(({ key, series }) => [...key, series.value]),
    [
      ['1', 'x', 0],
      ['1', 'y', 0],
      ['2', 'x', 1],
      ['2', 'y', 0],
    ],
  )
})

test('a family by route has no series at first', () => {
  const counter = new Counter({ ...described, labels: { a: ['1', '2'], route: 'program' } })
  assert.deepEqual(counter.all(), [])
})

test('an observation counts in the first bucket that it fits into', () => {
  const histogram = new Histogram({ ...described, labels: {}, bounds: [0.1, 1] })
  const series = histogram.at({})
  for (const ms of [100, 100.1, 1000, 5000]) histogram.observe(series, ms)
  assert.deepEqual(series.counts, [1, 2, 1])
  assert.equal(series.sum.toFixed(4), '6.2001')
})

test('the readers of a gauge are added, until they are removed', () => {
  const gauge = new Gauge({ ...described, labels: { a: ['1', '2'] } })
  const forget = gauge.from(() => [[{ a: '1' }, 2]])
  gauge.from(() => [
    [{ a: '1' }, 3],
    [{ a: '2' }, 1],
  ])
  const read = () => gauge.all().map(({ key, series }) => [...key, series.value])
  assert.deepEqual(read(), [
    ['1', 5],
    ['2', 1],
  ])
  forget()
  assert.deepEqual(read(), [
    ['1', 3],
    ['2', 1],
  ])
})

test('a reader that fails does not hide the other values', () => {
  const gauge = new Gauge({ ...described, labels: {} })
  gauge.from(() => {
    throw new Error('the database is gone')
  })
  gauge.from(() => [[{}, 3]])
  assert.deepEqual(
    gauge.all().map(({ series }) => series.value),
    [3],
  )
})

test('no label has a name that Prometheus itself adds to each sample', () => {
  for (const { name, labels } of Object.values(METRICS))
    for (const label of labels) assert(!['job', 'instance', 'le'].includes(label), name)
})

/** Reads texts of metrics in tests. */
import assert from 'node:assert/strict'

/** A sample: its name, its labels as they are written, and its value. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Returns the samples of a text. Fails for a line in no known form. */
export function samplesIn(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name = '', labels = '', value = ''] =
      /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    assert(name !== '', `no sample: ${line}`)
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
    return {
      name,
      labels: Object.fromEntries(pairs.map(([, label, text]) => [label as string, text as string])),
      value: Number(value),
    }
  })
}

/** Returns the sum of the samples of a name that have these labels. */
export const valueOf = (
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number =>
  samplesIn(text)
    .filter((one) => one.name === name)
    .filter((one) => Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)

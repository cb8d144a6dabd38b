/** Figures of a run, as they are told. */

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

export const say = (text: string): unknown => process.stdout.write(`${text}\n`)

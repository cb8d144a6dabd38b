/** Runs the verifier of `clients/python`, with Debian's python3-cryptography. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ROOT } from '../node-test.ts'
import type { Verdict } from '../second/compare.ts'
import { again } from '../second/random.ts'

/** The package python3-cryptography is for this Python; another one in PATH may not have it. */
const PYTHON = '/usr/bin/python3'
export const FOLDER = join(ROOT, 'clients/python')

/** Returns why the tests are skipped; false if they can run. */
export const lacksPython = (): string | false => {
  const { status } = spawnSync(PYTHON, ['-c', 'import cryptography'])
  return status !== 0 && 'not installed: python3-cryptography'
}

export type Run = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** Runs a module of the folder, for example `countersign`. */
export async function runPython(args: readonly string[], input = ''): Promise<Run> {
  const child = spawn(PYTHON, ['-B', '-m', ...args], { cwd: FOLDER })
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ])
  return { code, stdout, stderr }
}

/** A question, as `tests/answers.py` reads it. */
export type Question = { readonly ask: string } & Readonly<Record<string, unknown>>

/** Returns the answers to questions, from one process. */
export async function answersTo(questions: readonly Question[]): Promise<Verdict<unknown>[]> {
  const lines = questions.map((question) => `${JSON.stringify(question)}\n`).join('')
  const { code, stdout, stderr } = await runPython(['tests.answers'], lines)
  assert.equal(code, 0, stderr)
  const answers = stdout.trimEnd().split('\n')
  assert.equal(answers.length, questions.length)
  return answers.map((line) => {
    const { value, reason } = JSON.parse(line) as { value?: unknown; reason?: string }
    return reason === undefined ? { accept: true, value } : { accept: false, reason }
  })
}

/** Gathers questions with the verdicts of the first implementation. */
export class Comparison {
  readonly #questions: Question[] = []
  readonly #expected: Verdict<unknown>[] = []

  /** The number of questions so far. */
  get size(): number {
    return this.#questions.length
  }

  /** Adds a question with the verdict of the first implementation. */
  add(question: Question, expected: Verdict<unknown>): void {
    this.#questions.push(question)
    this.#expected.push(expected)
  }

  /** Asks everything, requires the same verdicts, and returns how many were refusals. */
  async agree(): Promise<number> {
    const answers = await answersTo(this.#questions)
    for (const [i, answer] of answers.entries()) {
      const input = `${again}, ${JSON.stringify(this.#questions[i])}`
      assert.deepEqual(answer, this.#expected[i], input)
    }
    return answers.filter(({ accept }) => !accept).length
  }
}

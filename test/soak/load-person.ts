/** Somebody of a crowd: with a connection of their own, over a lane of their own, and with a token that they made themselves. */
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Json } from '../e2e/caller.ts'
import type { Crowd, Question } from './load-crowd.ts'
import { hostile } from './load-hostile.ts'
import { openLane } from './load-lane.ts'

/** One request in so many means harm. */
const HOSTILE = 100

/** What all of them know. */
export interface Known {
  /** The account of all. */
  account: string
  /** How many requests there were. */
  requests: number
  /** Which connection is whose, by its id. */
  readonly owners: Map<string, number>
  /** The words of each connection and minute, and whose words they are. */
  readonly words: Map<string, string>
  /** Whether one more may guess words: all together may do so only twenty times a minute. */
  readonly mayGuess: () => boolean
}

export interface Person {
  readonly number: number
  readonly known: Known
  /** How many people there are. */
  readonly size: number
  /** The tags that this one made and left. */
  readonly tags: string[]
  token: string
  connection: string
  /** What the connection is called. */
  name: string
  /** Numbers, each once. */
  readonly next: () => number
  readonly ask: (kind: string, request: string, question?: Partial<Question>) => Promise<Json>
  readonly check: (claim: () => void) => void
}

export type Story = (person: Person) => Promise<unknown>

/** The first things that everybody does. */
const arrive: Story = async (person) => {
  const { number, ask, check, known } = person
  const name = `token ${number}`
  const body = { name, scope: 'full' }
  const made = await ask('token', 'POST /api/v1/token', { body, want: '201' })
  check(() => assert.deepEqual([made.name, made.scope], [name, 'full']))
  person.token = made.token
  person.name = `lane ${number}`
  const opened = await ask('open a connection', 'POST /api/v1/connections', {
    body: { name: person.name },
    want: '201',
  })
  check(() => assert.equal(opened.name, person.name))
  person.connection = opened.id
  known.owners.set(opened.id, number)
}

/** Somebody of the crowd, whose requests follow from the number, so that a run is much like any other. */
export function newPerson(crowd: Crowd, known: Known, number: number) {
  const lane = openLane(crowd.port)
  let [made, last] = [0, '']
  let pace = () => 0

  async function harm(which: number): Promise<void> {
    const { kind, bytes, question } = hostile(which, crowd.port)
    try {
      await crowd.send(lane, kind, bytes, question)
    } catch (error) {
      // The peer refuses some of it in a way of its own.
      crowd.check(() => crowd.wrong(kind, error))
    }
  }

  const person: Person = {
    number,
    known,
    size: crowd.size,
    tags: [],
    token: '',
    connection: '',
    name: '',
    next: () => ++made,
    async ask(kind, request, question = {}) {
      await setTimeout(pace())
      if (++known.requests % HOSTILE === 0) await harm(known.requests / HOSTILE)
      last = kind
      const token = question.token ?? person.token
      return crowd.ask(lane, kind, request, {
        want: '200',
        ...question,
        ...(token === '' ? {} : { token }),
      })
    },
    check: crowd.check,
  }
  const act = async (story: Story) => {
    try {
      await story(person)
    } catch (error) {
      crowd.wrong(`${person.name}, ${last}`, error)
    }
  }
  return {
    person,
    arrive: () => act(arrive),
    /**
     * Do one thing after the other until it is over. Each begins at another place of the mix, and at another time.
     * @param pauseMs how long to wait before each request
     */
    async live(
      stories: readonly Story[],
      pauseMs: () => number,
      over: () => boolean,
    ): Promise<void> {
      await setTimeout((pauseMs() * number) / crowd.size)
      pace = pauseMs
      for (let at = number * 7; !over(); at++) await act(stories[at % stories.length] as Story)
    },
    close: () => lane.close(),
  }
}

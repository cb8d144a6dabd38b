/** A person of a crowd: with a connection, a lane and a token of its own. */
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Json } from '../e2e/caller.ts'
import type { Crowd, Question } from './load-crowd.ts'
import { hostile } from './load-hostile.ts'
import { openLane } from './load-lane.ts'

/** One request of this many is hostile. */
const HOSTILE = 100

/** State that all persons share. */
export interface Known {
  /** The account of all persons. */
  account: string
  /** The number of requests. */
  requests: number
  /** The number of the person that owns each connection, by its id. */
  readonly owners: Map<string, number>
  /** The words of each connection and minute, with their owners. */
  readonly words: Map<string, string>
  /**
   * Returns whether one more guess of words is allowed: all together may guess only twenty times
   * a minute.
   */
  readonly mayGuess: () => boolean
}

export interface Person {
  readonly number: number
  readonly known: Known
  /** The number of persons. */
  readonly size: number
  /** The tags that this person created and left. */
  readonly tags: string[]
  token: string
  connection: string
  /** The name of the connection. */
  name: string
  /** Returns another number each time. */
  readonly next: () => number
  readonly ask: (kind: string, request: string, question?: Partial<Question>) => Promise<Json>
  readonly check: (claim: () => void) => void
}

export type Story = (person: Person) => Promise<unknown>

/** The first requests of each person. */
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

/**
 * Creates a person of the crowd. Its requests follow from the number, so that runs resemble each
 * other.
 */
export function newPerson(crowd: Crowd, known: Known, number: number) {
  const lane = openLane(crowd.port)
  let [made, last] = [0, '']
  let pace = () => 0

  async function harm(which: number): Promise<void> {
    const { kind, bytes, question } = hostile(which, crowd.port)
    try {
      await crowd.send(lane, kind, bytes, question)
    } catch (error) {
      // The peer rejects some of it in its own way.
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
     * Runs stories one after the other until `over`. Each person starts at another place of the
     * mix, and at another time.
     * @param pauseMs the wait before each request
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

/** Shared values of the suites of questions and of feedback. */
import type { Account } from '../../src/api/port.ts'
import type { Person } from './person.ts'
import type { LocalSubject } from './subject.ts'

/** Texts that every field rejects. */
export const BAD_TEXTS: [name: string, text: unknown][] = [
  ['empty', ''],
  ['blank', ' \n'],
  ['too long', 'x'.repeat(16_001)],
  ['a megabyte', 'x'.repeat(1_048_576)],
  ['with a direction override', 'a\u202eb'],
  ['isolated', 'a\u2066b'],
  ['with a null', 'a\0b'],
  ['an escape', 'a\u001b[2J'],
  ['a lone surrogate', 'a\ud800'],
  ['none', undefined],
  ['a number', 1],
  ['a list', ['a']],
]

/** Returns the same account, called with a token that does not expire here. */
export const asMachine = ({ service }: LocalSubject, { id }: Person): Account =>
  service.as({ account: id, device: null, session: null, token: 'tok_x' })

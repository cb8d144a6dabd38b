/** The sets of tools: each tool is in the set of its subject, and a choice of sets is checked. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { listedTool } from '../../src/api/tools/list.ts'
import { promptsFor } from '../../src/api/tools/prompts.ts'
import { listedResources, readableAt } from '../../src/api/tools/resources.ts'
import { TOOL_SETS, faultOfSets, toolsIn } from '../../src/api/tools/sets.ts'
import { toolsOf } from '../../src/api/tools/tool.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'

const need = scopeTable(REST_RULES)
const namesIn = (sets: string) => toolsIn(toolsOf(rest), sets).map(({ name }) => name)
const bytesOf = (sets: string) =>
  Buffer.byteLength(
    JSON.stringify({ tools: toolsIn(toolsOf(rest), sets).map((tool) => listedTool(tool, need)) }),
  )

const ALL = toolsOf(rest).map(({ name }) => name)
const SUBJECTS = TOOL_SETS.filter((set) => set !== 'all' && set !== 'common')

describe('the sets of tools', () => {
  it('all has every tool, and so have all subjects together', () => {
    assert.deepEqual(namesIn('all'), ALL)
    assert.deepEqual(namesIn(SUBJECTS.join()), ALL)
    assert.deepEqual(namesIn('tags,all,common'), ALL)
  })

  it('each has tools, and a short name that needs no quotes', () => {
    assert(SUBJECTS.length > 10)
    for (const set of TOOL_SETS) {
      assert.match(set, /^[a-z]{3,11}$/)
      assert(namesIn(set).length > 0, set)
    }
  })

  const has: [sets: string, tools: string[], not: string[]][] = [
    ['verify', ['verify_words', 'verify_challenge'], ['connections_code', 'tags_list']],
    ['verify,guests', ['verify_words', 'guest_codes_create'], ['connections_list']],
    ['org', ['org_members_list', 'context_active_org'], ['preferences_update']],
    ['account', ['context_read', 'preferences_update'], ['org_members_list']],
    ['common', ['verify_words', 'connections_code', 'stamp_create'], ['org_members_list']],
  ]
  for (const [sets, tools, not] of has)
    it(`${sets} has ${tools.join(', ')}, and not ${not.join(', ')}`, () => {
      const names = namesIn(sets)
      for (const name of tools) assert(names.includes(name), name)
      for (const name of not) assert(!names.includes(name), name)
    })

  it('common takes less than 20,000 bytes, each subject less than all', () => {
    assert(bytesOf('common') < 20_000, `${bytesOf('common')}`)
    for (const set of SUBJECTS) assert(bytesOf(set) < 20_000, `${set}: ${bytesOf(set)}`)
    assert(bytesOf('all') < 85_000, `${bytesOf('all')}`)
  })

  it('common has the tools of every prompt, and of every resource but two', () => {
    const names = new Set(namesIn('common'))
    assert.deepEqual(promptsFor(names), promptsFor(new Set(ALL)))
    for (const { uri } of listedResources) {
      const { tool } = readableAt(uri) ?? assert.fail(uri)
      assert(names.has(tool) || ['events_follow', 'invitations_list'].includes(tool), tool)
    }
  })

  const faults: [choice: string, fault: RegExp | null][] = [
    ['verify', null],
    ['verify,verify,all', null],
    ['guest', /^There is no set of tools "guest"\. Did you mean "guests"\? The sets are: common, /],
    ['', /^There is no set of tools ""\./],
    ['verify, guests', /" guests"\. Did you mean "guests"\?.*Separate several with commas/],
    ['verify,', /""/],
    ['constructor', /no set of tools "constructor"/],
    [`a"b${'x'.repeat(500)}`, /^.{0,400}$/],
  ]
  for (const [choice, fault] of faults)
    it(`the choice ${JSON.stringify(choice.slice(0, 20))} is ${fault === null ? 'valid' : 'rejected'}`, () => {
      const found = faultOfSets(choice)
      if (fault === null) assert.equal(found, null)
      else assert.match(found ?? 'no fault', fault)
    })
})

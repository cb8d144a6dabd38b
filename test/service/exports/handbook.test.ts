/**
 * The handbook: how texts are split into sections, and which sections a question finds. Limits
 * hold for every question.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { handbook, newHandbook, sectionsOf } from '../../../src/service/assistant/handbook.ts'

describe('sections', () => {
  test('are split at headings and titled with all headings above them', () => {
    const text =
      '# A\n\nOne.\n\n## B\n\nTwo.\n\n### C\n\nThree.\n\n## D\n\n### E\nFour.\n# F\nFive.'
    assert.deepEqual(
      sectionsOf('x.md', text).map(({ title, source, text }) => [title, source, text]),
      [
        ['A', 'x.md', 'One.'],
        ['A › B', 'x.md', 'Two.'],
        ['A › B › C', 'x.md', 'Three.'],
        ['A › D › E', 'x.md', 'Four.'],
        ['F', 'x.md', 'Five.'],
      ],
    )
  })

  test('a comment in a script is not a heading, and code is not split', () => {
    const code = `\`\`\`sh\n# not a heading\n\n${'echo\n'.repeat(1000)}\`\`\``
    const [first, second, ...others] = sectionsOf('x.md', `# A\n${code}\n## B\nx`)
    assert.deepEqual([first?.title, first?.text], ['A', code])
    assert.deepEqual([second?.title, others], ['A › B', []])
  })

  test('long sections are split between paragraphs and tables between rows, without loss', () => {
    const text = `# A\n${'A paragraph of words.\n\n'.repeat(200)}${'| a | b |\n'.repeat(500)}`
    const sections = sectionsOf('x.md', text)
    assert(sections.length > 5)
    for (const section of sections) {
      assert.equal(section.title, 'A')
      assert(section.text.length < 1600)
    }
    const words = (of: string) => of.match(/\w+|\|/g)
    assert.deepEqual(words(sections.map((one) => one.text).join('\n')), words(text)?.slice(1))
  })

  test('an empty document has none', () => {
    for (const text of ['', '\n\n', '# A', '# A\n## B\n'])
      assert.deepEqual(sectionsOf('x.md', text), [])
  })
})

describe('a search', () => {
  const book = newHandbook({
    'a.md':
      '# Fruit\n\n## Apples\n\nThey grow on trees.\n\n## Pears\n\nThey are no apples, and near "NOT" quotes.',
    'b.md': '# Empty',
  })
  const titles = (question: string, most = 9) => book.find(question, most).map(({ title }) => title)

  const cases: [question: string, found: string[]][] = [
    ['apples', ['Fruit › Apples', 'Fruit › Pears']],
    ['What is an APPLE?', ['Fruit › Apples', 'Fruit › Pears']],
    ['growing tree', ['Fruit › Apples']],
    ['quotes', ['Fruit › Pears']],
    ['quote" OR title:x', ['Fruit › Pears']],
    ['NEAR("a" "b", 5)', ['Fruit › Pears']],
    ['fruit', ['Fruit › Apples', 'Fruit › Pears']],
    ['title : pears*', ['Fruit › Pears']],
    ['what are they and why', []],
    ['', []],
    ['"', []],
    ["'; drop table sections; --", []],
    ['日本語', []],
    ['\ud800', []],
    ['\0', []],
  ]
  for (const [question, found] of cases)
    test(`for ${JSON.stringify(question)}`, () => assert.deepEqual(titles(question), found))

  test('returns the parts of a long section in their order, though the last fits best', () => {
    const long = newHandbook({ 'long.md': `# Pears\n\n${'A pear. '.repeat(100)}\n\nRipe pear.` })
    assert.deepEqual(
      long.find('ripe pear', 2).map(({ text }) => text.slice(0, 6)),
      ['A pear', 'Ripe p'],
    )
  })

  test('returns no more results than requested', () => assert.equal(titles('apples', 1).length, 1))

  test('accepts any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void book.find(text, 3)))
    book.find(`${'word '.repeat(3000)}apples`, 3)
    book.find('x'.repeat(16_000), 3)
  })

  test('lists the contents', () => assert.deepEqual(book.contents, ['Fruit: Apples, Pears']))
})

describe('the built-in handbook', () => {
  const cases: [question: string, source: string, says: RegExp][] = [
    ['How do I invite somebody to a connection?', 'docs/cli.md', /countersignd invite/],
    ['I lost my laptop, how do I get my account back?', 'docs/cli.md', /reset/],
    ['What do exit codes mean?', 'docs/cli.md', /exit|inconclusive/i],
    ['How to run several replicas with PostgreSQL', 'docs/operations.md', /replica/i],
    ['Idempotency-Key', 'docs/api.md', /Idempotency-Key/],
    ['SVC_SMTP_URL', 'docs/operations.md', /SVC_SMTP_URL/],
  ]
  for (const [question, source, says] of cases)
    test(question, () => {
      const found = handbook().find(question, 4)
      const right = found.filter((one) => one.source === source && says.test(one.text))
      assert.notEqual(right.length, 0, JSON.stringify(found.map(({ title }) => title)))
    })

  test('excludes decisions, and lists its contents', () => {
    assert(handbook().contents.some((line) => /^The command line: .*Signing in/.test(line)))
    const sources = new Set(
      ['decision', 'account', 'stamp', 'words', 'server'].flatMap((word) =>
        handbook()
          .find(word, 1000)
          .map(({ source }) => source),
      ),
    )
    for (const source of sources) assert.match(source, /^(README|docs\/[a-z-]+)\.md$/)
    assert(sources.size >= 5)
  })
})

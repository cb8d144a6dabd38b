/** The check of comments, strings, names of tests and documents, and the comparison of tokens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultsOf, stringFaultsOf, testNameFaultsOf } from '../../lint/prose.ts'
import { tokensOf } from '../../lint/tokens.ts'

const PLAIN = `/** Returns the words of the current minute. */
export const words = 3
`

/** A plain source with one more line. */
const withLine = (line: string) => ({ 'src/x.ts': `${PLAIN}\n${line}\n` })
const withText = (text: string) => ({
  'docs/x.md': `# Words\n\nThe daemon returns words.\n\n${text}\n`,
})

const planted: [name: string, files: Record<string, string>, fault: RegExp][] = [
  ['a subject', withLine('// Whoever asks gets it.'), /^src\/x\.ts:4: "Whoever".*name the subject/],
  ['a person', withLine('/** For nobody else. */'), /^src\/x\.ts:4: "nobody".*name the role/],
  [
    'a verb',
    withLine('/*\n * The server says so. */'),
    /^src\/x\.ts:5: "says".*name the operation/,
  ],
  ['a riddle', withLine('// It is what it is.'), /^src\/x\.ts:4: "is what".*subject, verb/],
  ['a trailing comment', withLine('const a = 1 // as it was'), /^src\/x\.ts:4: "as it was"/],
  ['a comment in a function', withLine('const f = () => {\n  // told\n}'), /^src\/x\.ts:5: "told"/],
  ['a long comment', withLine(`// ${'word '.repeat(20)}`), /^src\/x\.ts:4: longer than 100/],
  ['a document', withText('Everybody has one.'), /^docs\/x\.md:5: "Everybody"/],
  ['a long paragraph', withText('word '.repeat(21)), /^docs\/x\.md:5: longer than 100/],
]
for (const [name, files, fault] of planted)
  test(`${name} is found`, () => {
    const [first, ...more] = faultsOf(files)
    assert.match(first ?? '', fault)
    assert.deepEqual(more, [])
  })

const accepted: [name: string, files: Record<string, string>][] = [
  ['plain comments', { 'src/x.ts': PLAIN }],
  ['a word in a string', withLine("const text = 'Nobody is signed in.'")],
  ['a word in a name', withLine('const said = 1')],
  ['a word in a block of code', withText('```sh\nsay told whoever\n```')],
  ['a word between backticks', withText('The user is `nobody`.')],
  ['a long line of code', withLine(`const text = '${'word '.repeat(30)}'`)],
  ['a long table row', withText(`| ${'word '.repeat(30)} |`)],
  ['one word in 2,000', withLine(`// told\n${'// word word word word\n'.repeat(500)}`)],
]
for (const [name, files] of accepted)
  test(`${name} is accepted`, () => assert.deepEqual(faultsOf(files), []))

for (const [name, line, fault] of [
  ['a literal', "const a = 'Nobody is signed in.'", /^src\/x\.ts:4: "Nobody".*name the role/],
  ['a template', 'const a = `Nobody is signed in.`', /^src\/x\.ts:4: "Nobody"/],
  [
    'a head of a template',
    'const a = `The server ${1} b`\nconst c = `${1} tells you the words`',
    /^src\/x\.ts:5: "tells"/,
  ],
  [
    'a later line of a template',
    'const a = `One line.\nIt tells you so.`',
    /^src\/x\.ts:5: "tells"/,
  ],
  ['a name of a test', "test('whoever asks gets it', () => {})", /^src\/x\.ts:4: "whoever"/],
] as const)
  test(`${name} with a word of the list is found`, () => {
    const [first, ...more] = stringFaultsOf(withLine(line))
    assert.match(first ?? '', fault)
    assert.deepEqual(more, [])
  })

test('a string of three words and a comment are no texts', () => {
  assert.deepEqual(stringFaultsOf(withLine("const a = 'nobody tells it' // nobody tells")), [])
})

for (const [name, line, fault] of [
  ['a call of test', "test('whoever asks gets it', f)", /:4: "whoever".*name the subject/],
  ['a call of it', "it('is told', async (t) => {})", /:4: "told".*name the operation/],
  ['a call of describe', "describe('it is what it is', f)", /:4: "is what".*subject, verb/],
  ['a subtest', "await t.test('nobody', f)", /:4: "nobody".*name the role/],
  ['a template', 'test(`${how}: nobody asks`, f)', /:4: "nobody"/],
  ['a choice of names', "test(a ? 'b' : 'nobody asks', f)", /:4: "nobody"/],
  ['a row of cases', "const rows = [['an id of nobody', 404]]", /:4: "nobody"/],
  ['a key of a case', "const rows = { 'an id of nobody': 404 }", /:4: "nobody"/],
] as const)
  test(`a name of a test in ${name} is found`, () => {
    const [first, ...more] = testNameFaultsOf(withLine(line))
    assert.match(first ?? '', fault)
    assert.deepEqual(more, [])
  })

for (const [name, line] of [
  ['an expected message', "test('an error', () => assert.match(text, 'Nobody is here.'))"],
  ['an assertion', "assert.equal(a, 1, 'nobody asked')"],
  ['the input of a case', "const rows = [['an unknown name', 'nobody'], ['nobody', 404]]"],
  ['a word of a pattern', "pattern.test('nobody asks')"],
] as const)
  test(`${name} is no name of a test`, () => {
    assert.deepEqual(testNameFaultsOf(withLine(line)), [])
  })

test('comments and white space are no tokens', () => {
  const before = '/** Tells. */\nexport const f = (a: number) => [\n  a, // says\n]\n'
  const after = '/** Returns. */\nexport const f = (a: number) => [a]\n'
  assert.deepEqual(tokensOf(before), tokensOf(after))
})

for (const [name, other] of [
  ['a name', 'const b = `x ${1}`'],
  ['a part of a template', 'const a = `y ${1}`'],
  ['a number', 'const a = `x ${2}`'],
] as const)
  test(`${name} is a token`, () => {
    assert.notDeepEqual(tokensOf('const a = `x ${1}`'), tokensOf(other))
  })

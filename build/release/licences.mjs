/** The texts of licences. */
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const LICENCE = /^(licen[cs]e|copying|notice|third[-_]party)/i

/** The text of the licence that a package names without including a file. */
const MIT = (author) => `MIT License

Copyright (c) ${author}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

/**
 * Returns the texts in the licence files of a package, or the licence that it names.
 * @throws if it has no such file, and does not name the MIT licence
 */
export async function licenceTextsOf(name, folder) {
  const files = (await readdir(folder)).filter((file) => LICENCE.test(file)).toSorted()
  if (files.length > 0)
    return Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  const { author, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  if (license !== 'MIT') throw new Error(`${name} has no file with its licence, ${license}.`)
  const who = typeof author === 'string' ? author : (author?.name ?? `the authors of ${name}`)
  return [MIT(who)]
}
